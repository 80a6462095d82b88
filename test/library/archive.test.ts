import assert from 'node:assert/strict'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import { describe, list, type ProgressEvent, verify } from '../../src/index.ts'

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
  const report = await verify({ location, backupId: 'golden', deep: true, onProgress: event => events.push(event) })
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

/** Keys with an underscore, other than the names of topic settings. */
function findSnakes(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'configs' ? [] : [...(key.includes('_') ? [key] : []), ...findSnakes(inner)],
  )
}
