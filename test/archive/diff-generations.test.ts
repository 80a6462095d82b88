import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { writeAccess } from '../../src/archive/access.ts'
import { diffGenerations } from '../../src/archive/diff-generations.ts'
import { diffRegistry } from '../../src/archive/diff-sections.ts'
import { diffTopics } from '../../src/archive/diff-topics.ts'
import { writeGroups } from '../../src/archive/groups.ts'
import type { Gap, ManifestPartition, ManifestTopic } from '../../src/archive/manifest.ts'
import type { RegistrySection } from '../../src/archive/registry-section.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { storeGenerations } from './generation-samples.ts'
import { never, topicOf } from './sample-archive.ts'

const partition = (number: number, end: bigint, changes: Partial<ManifestPartition> = {}): ManifestPartition => ({
  ...emptyPartition(number, 0n),
  end_offset: end,
  records: Number(end),
  bytes: Number(end) * 100,
  ...changes,
})
const gap = (from: bigint): Gap => ({ from, to: from + 5n, reason: 'retention', found_at: '2026-01-02T03:04:05.000Z' })
const shortOf = (from: ManifestTopic[], to: ManifestTopic[]) =>
  diffTopics({ topics: from }, { topics: to }).map(({ selector, change }) => `${selector} ${change}`)

describe('topics', () => {
  const one = topicOf('a', [partition(0, 5n)])
  const other = topicOf('b', [partition(0, 7n)])

  test('that are the same are no difference, however they are stored', () => {
    const merged = topicOf('a', [partition(0, 5n, { segments: 9, stored_bytes: 77, high_watermark: 99n })])
    assert.deepEqual(diffTopics({ topics: [one, other] }, { topics: [other, merged] }), [])
  })

  test('are added, removed, replaced, re-created, absent and back', () => {
    const again = topicOf('a', [partition(0, 1n)], { id: 'id-new' })
    assert.deepEqual(shortOf([one], [one, other]), ['b added'])
    assert.deepEqual(shortOf([one, other], [one]), ['b removed'])
    const replaced = { ...one, state: 'replaced' as const }
    assert.deepEqual(shortOf([one], [replaced, again]), ['a recreated', 'a@id-a replaced'])
    const absent = { ...one, state: 'absent' as const }
    assert.deepEqual(shortOf([one], [absent]), ['a absent'])
    assert.deepEqual(shortOf([absent], [one]), ['a returned'])
  })

  test('show offsets, records, bytes and gaps of every partition that differs', () => {
    const from = topicOf('a', [partition(0, 5n, { gaps: [gap(1n)] }), partition(1, 5n), partition(2, 4n)])
    const to = topicOf('a', [
      partition(0, 9n, { start_offset: 2n, gaps: [gap(6n)] }),
      partition(1, 5n),
      partition(3, 1n),
    ])
    const [diff] = diffTopics({ topics: [from] }, { topics: [to] })
    assert.deepEqual(diff?.records, { from: 14, to: 15 })
    assert.deepEqual(diff?.partitions, [
      {
        ...{ partition: 0, change: 'changed', start_offset: { from: 0n, to: 2n }, end_offset: { from: 5n, to: 9n } },
        ...{ records: { from: 5, to: 9 }, bytes: { from: 500, to: 900 }, stored_bytes: { from: 0, to: 0 } },
        ...{ new_gaps: [gap(6n)], closed_gaps: [gap(1n)] },
      },
      {
        ...{ partition: 2, change: 'removed', start_offset: { from: 0n, to: 0n }, end_offset: { from: 4n, to: 0n } },
        ...{ records: { from: 4, to: 0 }, bytes: { from: 400, to: 0 }, stored_bytes: { from: 0, to: 0 } },
        ...{ new_gaps: [], closed_gaps: [] },
      },
      {
        ...{ partition: 3, change: 'added', start_offset: { from: 0n, to: 0n }, end_offset: { from: 0n, to: 1n } },
        ...{ records: { from: 0, to: 1 }, bytes: { from: 0, to: 100 }, stored_bytes: { from: 0, to: 0 } },
        ...{ new_gaps: [], closed_gaps: [] },
      },
    ])
  })

  test('show settings, with the number of partitions and replicas', () => {
    const from = topicOf('a', [partition(0, 5n)], { configs: { x: '1', y: '2' } })
    const to = topicOf('a', [partition(0, 5n)], {
      configs: { x: '3', z: '4' },
      partition_count: 2,
      replication_factor: 3,
    })
    const [diff] = diffTopics({ topics: [from] }, { topics: [to] })
    assert.equal(diff?.change, 'changed')
    assert.deepEqual(diff?.settings, [
      { name: 'partitions', from: '1', to: '2' },
      { name: 'replication factor', from: '1', to: '3' },
      { name: 'x', from: '1', to: '3' },
      { name: 'y', from: '2', to: null },
      { name: 'z', from: null, to: '4' },
    ])
  })
})

test('subjects are compared by their content, not by the objects that hold them', () => {
  const file = (blake3: string, path = 'f') => ({ file: path, size: 1, blake3: blake3.repeat(64) })
  const subject = (name: string, text: string, path?: string) => ({
    ...{ name, schema_type: 'AVRO' as const, compatibility: null, compatibility_source: 'default' as const },
    metadata: file('0', path),
    versions: [{ version: 1, id: 1, deleted: false, schema_file: path ?? 'f', size: 1, blake3: text.repeat(64) }],
  })
  const section = (...subjects: ReturnType<typeof subject>[]) =>
    ({ settings: file('1'), global: file('2'), subjects }) as unknown as RegistrySection
  const diff = diffRegistry(
    section(subject('a', 'a'), subject('b', 'b'), subject('c', 'c')),
    section(subject('a', 'a', 'moved'), subject('b', 'x'), subject('d', 'd')),
  )
  assert.deepEqual([diff.added, diff.removed, diff.changed], [['d'], ['c'], ['b']])
  assert.equal(diff.settings_changed, false)
  assert.deepEqual(diffRegistry(undefined, section(subject('a', 'a'))).enabled, { from: false, to: true })
})

const position = { topic: 'orders', partition: 0, leader_epoch: -1, metadata: '', lag: 1n }
const group = (name: string, offset: bigint) => ({
  ...{ group: name, type: 'classic' as const, state: 'Empty', members: 0, error: null },
  positions: [{ ...position, offset }],
})
const acl = (principal: string) => ({
  ...{ resource_type: 'TOPIC', resource_name: 'orders', pattern_type: 'LITERAL', principal, host: '*' },
  ...{ operation: 'READ', permission: 'ALLOW' },
})

/** The sections of two generations. */
async function sectionsOf(storage: Storage, generation: number, groups: ReturnType<typeof group>[], users: string[]) {
  const target = { backupId: 'b1', generation, run: `s${generation}`, takenAt: 'now', previous: undefined }
  const consumer_groups = await writeGroups(storage, { groups, left_out: [] }, target, never)
  const off = { state: 'off' as const }
  const acls = { state: 'taken' as const, items: users.map(acl) }
  return { consumer_groups, access: await writeAccess(storage, { acls, quotas: off, users: off }, target, never) }
}

for (const [name, logFrom] of Object.entries({ 'version 1': undefined, 'version 2': 1, 'both versions': 2 })) {
  test(`generations of ${name} show the groups and access rules that changed`, async () => {
    const storage = openMemoryStorage()
    const first = await sectionsOf(storage, 1, [group('a', 1n), group('b', 1n)], ['User:x', 'User:y'])
    const second = await sectionsOf(storage, 2, [group('b', 2n), group('c', 1n)], ['User:y', 'User:z', 'User:w'])
    const time = { created_at: '2026-01-02T03:04:05.000Z' }
    await storeGenerations(
      storage,
      [
        { ...time, changes: first },
        { ...time, changes: second },
        { ...time, changes: second },
      ],
      logFrom,
    )
    const diff = await diffGenerations(storage, 'b1', { from: 1, to: 2 }, never)
    assert.deepEqual(diff.consumer_groups, {
      ...{ state: { from: 'taken', to: 'taken' }, added: ['c'], removed: ['a'], changed: ['b'] },
    })
    assert.deepEqual(diff.access.acls, { state: { from: 'taken', to: 'taken' }, added: 2, removed: 1 })
    assert.deepEqual([diff.equal, diff.from.generation, diff.to.generation], [false, 1, 2])
    assert.deepEqual(
      diff.topics.map(({ records, partitions }) => [records, partitions[0]?.end_offset]),
      [
        [
          { from: 1, to: 2 },
          { from: 1n, to: 2n },
        ],
      ],
    )
    assert.equal((await diffGenerations(storage, 'b1', { from: 2 }, never)).to.generation, 3)
    assert.equal((await diffGenerations(storage, 'b1', { from: 2, to: 2 }, never)).equal, true)
    await assert.rejects(diffGenerations(storage, 'b1', { from: 9 }, never), { code: 'GENERATION_NOT_FOUND' })
  })
}
