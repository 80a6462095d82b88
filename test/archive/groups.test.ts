import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { commitGeneration } from '../../src/archive/commit.ts'
import { describeBackup } from '../../src/archive/describe.ts'
import { readGroups, writeGroups } from '../../src/archive/groups.ts'
import type { GroupsSection, StoredGroup } from '../../src/archive/groups-section.ts'
import { renewManifestCopy } from '../../src/archive/newest-copies.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { type MemoryStorage, openMemoryStorage } from '../fakes/memory-storage.ts'
import { draftManifest, never } from './sample-archive.ts'

const groups: StoredGroup[] = [
  {
    group: 'any / name ü',
    type: 'consumer',
    state: 'Stable',
    members: 2,
    error: null,
    positions: [
      { topic: 'a', partition: 3, offset: 2n ** 60n + 1n, leader_epoch: -1, metadata: '{"x":1}', lag: 0n },
      { topic: 'b', partition: 0, offset: 0n, leader_epoch: 4, metadata: '', lag: null },
    ],
  },
  { group: 'unread', type: 'classic', state: null, members: null, error: 'denied', positions: [] },
]
const content = { groups, left_out: [{ group: 's', type: 'share' }] }

const write = (storage: MemoryStorage, generation: number, previous?: GroupsSection, some = content) => {
  const place = { backupId: 'b1', generation, run: `run${generation}`, takenAt: `at ${generation}`, previous }
  return writeGroups(storage, some, place, never)
}

async function commit(storage: MemoryStorage, section: GroupsSection): Promise<void> {
  const manifest = draftManifest([], { consumer_groups: section })
  const committed = await commitGeneration(storage, { manifest, freshSegments: new Map(), attempt: 1 }, never)
  await renewManifestCopy(storage, committed.manifest, never)
}

const problemsOf = async (storage: MemoryStorage) =>
  (await verifyBackup(storage, 'b1', { deep: false, onProgress: () => undefined }, never)).problems

describe('groups in an archive', () => {
  test('are read as they were written, with 64-bit offsets', async () => {
    const storage = openMemoryStorage()
    const section = await write(storage, 1)
    assert.deepEqual(
      [section.key, section.groups, section.positions, section.errors],
      ['b1/kafka/groups-1.run1.json', 2, 2, 1],
    )
    const { groups: read, left_out } = await readGroups(storage, section, never)
    assert.deepEqual({ groups: read, left_out }, content)
  })

  test('are not written where a reader would refuse them, because the cluster lists one twice', async () => {
    const storage = openMemoryStorage()
    await assert.rejects(write(storage, 1, undefined, { groups: [...groups, ...groups], left_out: [] }), {
      code: 'KAFKA_PROTOCOL',
      message: 'the cluster lists group "any / name ü" twice',
    })
    assert.equal(storage.objects.size, 0)
  })

  test('that have not changed are named again, not written', async () => {
    const storage = openMemoryStorage()
    const first = await write(storage, 1)
    const second = await write(storage, 2, first)
    assert.deepEqual(second, { ...first, taken_at: 'at 2' })
    const third = await write(storage, 3, second, { groups: groups.slice(0, 1), left_out: [] })
    assert.equal(third.key, 'b1/kafka/groups-3.run3.json')
    assert.deepEqual([...storage.objects.keys()], [first.key, third.key])
  })

  test('are described, and whole', async () => {
    const storage = openMemoryStorage()
    await commit(storage, await write(storage, 1))
    const { consumer_groups } = await describeBackup(storage, 'b1', {}, never)
    assert.deepEqual(consumer_groups, {
      state: 'taken',
      taken_at: 'at 1',
      groups: 2,
      positions: 2,
      errors: 1,
      error: null,
    })
    assert.deepEqual(await problemsOf(storage), [])
  })

  test('that are missing, or have other bytes, are found and refused', async () => {
    const storage = openMemoryStorage()
    const section = await write(storage, 1)
    await commit(storage, section)
    const bytes = storage.objects.get(section.key) ?? Buffer.alloc(0)
    const damaged = Buffer.from(bytes)
    damaged[40] = (damaged[40] ?? 0) ^ 1
    storage.objects.set(section.key, damaged)
    assert.deepEqual(await problemsOf(storage), [
      { key: section.key, problem: 'it is not the object that the manifest recorded' },
    ])
    storage.objects.delete(section.key)
    assert.deepEqual(await problemsOf(storage), [{ key: section.key, problem: 'it is missing' }])
    await assert.rejects(readGroups(storage, section, never), { code: 'ARCHIVE_DAMAGED' })
  })

  test('that were not taken, or could not be listed, are told apart', async () => {
    for (const section of [{ state: 'off' }, { state: 'failed', taken_at: 't', error: 'why' }] as const) {
      const storage = openMemoryStorage()
      await commit(storage, section)
      const { consumer_groups } = await describeBackup(storage, 'b1', {}, never)
      assert.equal(consumer_groups.state, section.state)
      assert.equal(consumer_groups.error, section.state === 'failed' ? 'why' : null)
      assert.deepEqual(await problemsOf(storage), [])
    }
  })
})
