import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { hasCode } from '../../src/errors.ts'
import { describe, list, type ProgressEvent, verify } from '../../src/index.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import { storeBackup } from '../archive/sample-archive.ts'
import { keyOf, ownKeys } from '../encryption/samples.ts'
import { encodeRun } from '../fakes/batches.ts'

const location = resolve(import.meta.dirname, '../golden/v0.1.0')
const job = {
  mode: 'restore',
  backup_id: 'golden',
  target: { bootstrap_servers: ['127.0.0.1:1'] },
  storage: { backend: 'filesystem', path: location },
} as const

test('list shows the backups at a location, or where a job keeps its own', async () => {
  const [row, ...others] = await list({ location })
  assert.deepEqual(others, [])
  assert.ok(row && !('error' in row))
  assert.deepEqual([row.backupId, row.complete, row.topics], ['golden', true, 1])
  assert.deepEqual(await list({ job }), [row])
  const { target: _, ...withoutCluster } = job
  assert.deepEqual(await list({ job: withoutCluster }), [row])
})

test('describe shows what a backup holds, in the names of the language', async () => {
  const description = await describe({ location, backupId: 'golden' })
  assert.deepEqual(await describe({ job }), description)
  assert.deepEqual(findSnakes(description), [])
  const [topic] = description.topics
  assert.equal(topic?.partitionCount, 2)
  assert.equal(typeof topic?.partitions[0]?.startOffset, 'bigint')
})

test('verify checks a backup and tells how far it is', async () => {
  const events: ProgressEvent[] = []
  const report = await verify({
    location,
    backupId: 'golden',
    deep: true,
    record: false,
    onProgress: event => events.push(event),
  })
  assert.deepEqual([report.ok, report.problems, report.backupId], [true, [], 'golden'])
  assert.deepEqual(findSnakes(report), [])
  const last = events.at(-1)
  assert.ok(last?.type === 'checked' && last.objects === last.totalObjects)
})

test('a place that is not there, a backup that is not there and no place at all are errors with codes', async () => {
  const isCode = (code: Parameters<typeof hasCode>[1]) => (error: unknown) => hasCode(error, code)
  await assert.rejects(list({ location: join(location, 'nowhere') }), isCode('STORAGE_NOT_FOUND'))
  await assert.rejects(list({ location: 'ftp://bucket' }), isCode('LOCATION_INVALID'))
  await assert.rejects(describe({ location, backupId: 'other' }), isCode('BACKUP_NOT_FOUND'))
  // @ts-expect-error A program in JavaScript may forget it.
  await assert.rejects(describe({ location }), isCode('USAGE'))
  // @ts-expect-error The same.
  await assert.rejects(list({}), isCode('USAGE'))
})

test('encrypted backups open with a key, and are rows that say so without one', async () => {
  const path = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
  const keyFile = join(path, 'backup.key')
  try {
    await writeFile(keyFile, Buffer.alloc(32, 1))
    const storage = withEncryption(openFilesystemStorage({ path: join(path, 'store') }), ownKeys([keyOf(1)]))
    await storeBackup(storage, [[encodeRun(0n, 3)]])
    const at = { location: join(path, 'store') }
    const encryption = { recipients: [{ key_file: keyFile }] }
    const [locked] = await list(at)
    assert.ok(locked && 'error' in locked && locked.code === 'ENCRYPTION_KEY')
    assert.ok(!('error' in ((await list({ ...at, encryption }))[0] ?? locked)))
    await assert.rejects(verify({ ...at, backupId: 'b1' }), error => hasCode(error, 'ENCRYPTION_KEY'))
    assert.equal((await verify({ ...at, backupId: 'b1', encryption, deep: true })).ok, true)
    const wrong = { recipients: [{ name: 'none' }] }
    await assert.rejects(describe({ ...at, backupId: 'b1', encryption: wrong }), error =>
      hasCode(error, 'CONFIG_INVALID'),
    )
  } finally {
    await rm(path, { recursive: true, force: true })
  }
})

/** Keys with an underscore, other than the names of topic settings. */
function findSnakes(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'configs' ? [] : [...(key.includes('_') ? [key] : []), ...findSnakes(inner)],
  )
}
