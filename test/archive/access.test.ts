import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readAccess, writeAccess } from '../../src/archive/access.ts'
import type { AccessReading, AccessSection } from '../../src/archive/access-section.ts'
import { commitGeneration } from '../../src/archive/commit.ts'
import { describeBackup } from '../../src/archive/describe.ts'
import { renewManifestCopy } from '../../src/archive/newest-copies.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { stored } from '../access/rules.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { draftManifest, never } from './sample-archive.ts'

const quota = { entity: [{ type: 'user', name: null }], key: 'consumer_byte_rate', value: '9007199254740993' }
const reading: AccessReading = {
  acls: { state: 'taken', items: [stored({}), stored({ principal: 'User:ü', resourceType: 'CODE_9' })] },
  quotas: { state: 'taken', items: [quota] },
  users: { state: 'failed', error: 'denied' },
}

const write = (storage: MemoryStorage, generation: number, previous?: AccessSection, some = reading) => {
  const place = { backupId: 'b1', generation, run: `run${generation}`, takenAt: `at ${generation}`, previous }
  return writeAccess(storage, some, place, never)
}

async function commit(storage: MemoryStorage, section?: AccessSection): Promise<void> {
  const manifest = draftManifest([], section ? { access: section } : {})
  const committed = await commitGeneration(storage, { manifest, freshSegments: new Map(), attempt: 1 }, never)
  await renewManifestCopy(storage, committed.manifest, never)
}

const verify = (storage: MemoryStorage) =>
  verifyBackup(storage, 'b1', { deep: false, onProgress: () => undefined }, never)

describe('access rules in an archive', () => {
  test('are read as they were written', async () => {
    const storage = openMemoryStorage()
    const section = await write(storage, 1)
    assert.equal(section.key, 'b1/kafka/access-1.run1.json')
    assert.deepEqual(
      [section.acls, section.quotas, section.users],
      [
        { state: 'taken', count: 2 },
        { state: 'taken', count: 1 },
        { state: 'failed', error: 'denied' },
      ],
    )
    const { acls, quotas, users } = await readAccess(storage, section, never)
    assert.deepEqual(
      [acls, quotas, users],
      [[stored({}), stored({ principal: 'User:ü', resourceType: 'CODE_9' })], [quota], []],
    )
  })

  test('that have not changed are named again, not written', async () => {
    const storage = openMemoryStorage()
    const first = await write(storage, 1)
    const second = await write(storage, 2, first)
    assert.deepEqual(second, { ...first, taken_at: 'at 2' })
    const third = await write(storage, 3, second, { ...reading, quotas: { state: 'off' } })
    assert.equal(third.key, 'b1/kafka/access-3.run3.json')
    assert.deepEqual([...storage.objects.keys()], [first.key, third.key])
  })

  test('are described, and whole; a backup without them has all off', async () => {
    const storage = openMemoryStorage()
    await commit(storage, await write(storage, 1))
    const { access } = await describeBackup(storage, 'b1', {}, never)
    assert.deepEqual(access, {
      taken_at: 'at 1',
      acls: { state: 'taken', count: 2, error: null },
      quotas: { state: 'taken', count: 1, error: null },
      users: { state: 'failed', count: 0, error: 'denied' },
    })
    const { problems, objects } = await verify(storage)
    assert.deepEqual([problems, objects], [[], 2])
    const other = openMemoryStorage()
    await commit(other)
    const off = { state: 'off', count: 0, error: null }
    assert.deepEqual((await describeBackup(other, 'b1', {}, never)).access, {
      taken_at: null,
      acls: off,
      quotas: off,
      users: off,
    })
    assert.equal((await verify(other)).objects, 1)
  })

  test('that are missing, have other bytes, or are not as many as the manifest says are found', async () => {
    const storage = openMemoryStorage()
    const section = await write(storage, 1)
    await commit(storage, { ...section, acls: { state: 'taken', count: 3 } })
    const { key } = section
    assert.deepEqual((await verify(storage)).problems, [{ key, problem: 'it has 2 acls instead of 3' }])
    const bytes = Buffer.from(storage.objects.get(key) ?? [])
    bytes[40] = (bytes[40] ?? 0) ^ 1
    storage.objects.set(key, bytes)
    assert.deepEqual((await verify(storage)).problems, [
      { key, problem: 'it is not the object that the manifest recorded' },
    ])
    storage.objects.delete(key)
    assert.deepEqual((await verify(storage)).problems, [{ key, problem: 'it is missing' }])
    await assert.rejects(readAccess(storage, section, never), { code: 'ARCHIVE_DAMAGED' })
  })
})
