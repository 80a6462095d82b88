import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StoredGroup } from '../../src/archive/groups-section.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { MAX_MARKED } from '../../src/restore/group-marks.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { backUpTopics, type FakeTarget, withFakeTarget } from './fake-target.ts'

const source = () => [
  fakeTopic('orders', [[encodeRun(0n, 4), encodeRun(4n, 3)], [encodeRun(0n, 9)]]),
  fakeTopic('audit', [[encodeRun(0n, 5)]]),
]
const groupOn = (group: string, places: Record<string, bigint>): StoredGroup => ({
  ...{ group, type: 'classic', state: 'Empty', members: 0, error: null },
  positions: Object.entries(places).map(([key, offset]) => {
    const [topic = '', partition = ''] = key.split('/')
    return { topic, partition: Number(partition), offset, leader_epoch: 0, metadata: '', lag: 0n }
  }),
})
const groups = [groupOn('billing', { 'orders/0': 2n, 'orders/1': 5n }), groupOn('search', { 'orders/0': 4n })]

async function withGroups(work: (target: FakeTarget) => Promise<void>, stored = groups): Promise<void> {
  const storage = openMemoryStorage()
  await withFakeTarget(
    source(),
    async target => {
      await backUpTopics(storage, source(), undefined, stored)
      target.carry = { exclude: [], mapping: new Map() }
      await work(target)
    },
    storage,
  )
}

const commit = ({ groups: all }: FakeTarget, group: string, places: Record<string, bigint>) => {
  const entries = Object.entries(places).map(([key, offset]) => [key, { offset, metadata: '' }] as const)
  all.set(group, new Map([...(all.get(group) ?? []), ...entries]))
}
const offsetsOf = ({ groups: all }: FakeTarget, group: string) =>
  Object.fromEntries([...(all.get(group) ?? [])].map(([key, { offset }]) => [key, offset]))

describe('consumer groups of a restore that runs several times', () => {
  for (const isShared of [true, false]) {
    test(`a group that something else has committed for fails alone until that is deleted${isShared ? ', in shards' : ''}`, () =>
      withGroups(async target => {
        const run = () => (isShared ? target.finish() : target.restore())
        if (isShared) {
          await target.prepare(2)
          for (const one of ['0/2', '1/2']) await target.shard(one)
          commit(target, 'search', { 'orders/0': 7n })
        } else {
          target.onEvent = ({ type }) => type === 'begun' && commit(target, 'search', { 'orders/0': 7n })
        }
        const first = await run()
        target.onEvent = () => undefined
        assert.deepEqual(first.consumerGroups.totals, { groups: 2, committed: 1, kept: 0, failed: 1 })
        assert.match(
          first.consumerGroups.groups[1]?.error ?? '',
          /offset 7 of group search on orders\/0 is not one that this restore wrote/,
        )
        assert.deepEqual(offsetsOf(target, 'billing'), { 'orders/0': 2n, 'orders/1': 5n })
        commit(target, 'billing', { 'orders/0': 6n })
        const second = await run()
        assert.deepEqual(second.consumerGroups.totals, { groups: 2, committed: 0, kept: 1, failed: 1 })
        assert.deepEqual(offsetsOf(target, 'search'), { 'orders/0': 7n })
        target.groups.delete('search')
        assert.deepEqual((await run()).consumerGroups.totals, { groups: 2, committed: 1, kept: 1, failed: 0 })
        assert.deepEqual(offsetsOf(target, 'search'), { 'orders/0': 4n })
        assert.deepEqual((await run()).consumerGroups.totals, { groups: 2, committed: 0, kept: 2, failed: 0 })
      }))
  }

  test('a group that its notes have no room for keeps its offsets, with a warning', () => {
    const many = Array.from({ length: MAX_MARKED + 1 }, (_, i) => groupOn(`group-${i}`, { 'orders/0': 2n }))
    return withGroups(async target => {
      assert.equal((await target.restore()).consumerGroups.totals.committed, MAX_MARKED + 1)
      target.warned = []
      for (const { group } of many) commit(target, group, { 'orders/0': 6n })
      const { totals } = (await target.restore()).consumerGroups
      const last = `group-${MAX_MARKED}`
      assert.deepEqual(totals, { groups: MAX_MARKED + 1, committed: 0, kept: MAX_MARKED + 1, failed: 0 })
      const [, warning] = target.warned
      assert.match(warning ?? '', new RegExp(`^group ${last}: the progress of this restore has no room to name it`))
      assert.deepEqual(offsetsOf(target, last), { 'orders/0': 6n })
    }, many)
  })

  test('a group that its notes have no room for keeps its offsets also where a deleted topic is restored again', () => {
    const many = Array.from({ length: MAX_MARKED + 1 }, (_, i) =>
      groupOn(`group-${i}`, { 'orders/0': 2n, 'audit/0': 1n }),
    )
    return withGroups(async target => {
      await target.restore()
      target.fake.state.topics = target.fake.state.topics.filter(({ name }) => name !== 'audit')
      target.notes.delete('audit/0')
      for (const { group } of many) {
        target.groups.get(group)?.delete('audit/0')
        commit(target, group, { 'orders/0': 6n })
      }
      const { totals } = (await target.restore()).consumerGroups
      assert.deepEqual(totals, { groups: MAX_MARKED + 1, committed: MAX_MARKED + 1, kept: 0, failed: 0 })
      assert.deepEqual(offsetsOf(target, `group-${MAX_MARKED}`), { 'orders/0': 6n, 'audit/0': 1n })
    }, many)
  })

  test('the offsets that a group has got from another group of the backup are not those of this one', () =>
    withGroups(async target => {
      target.carry = { include: ['billing'], exclude: [], mapping: new Map([['billing', 'one']]) }
      assert.equal((await target.restore()).consumerGroups.totals.committed, 1)
      target.carry = { include: ['search'], exclude: [], mapping: new Map([['search', 'one']]) }
      const { consumerGroups } = await target.restore()
      assert.match(
        consumerGroups.groups[0]?.error ?? '',
        /offset 2 of group one on orders\/0 is not one that this restore wrote/,
      )
    }))

  test('a group that was released early is noted by then, and may read on before the next run', () =>
    withGroups(async target => {
      target.carry = { ...target.carry, release: 'per_topic' }
      const marks = () => JSON.parse(target.notes.get('orders/0')?.metadata ?? '{}').x?.length
      const seen: unknown[] = []
      target.onEvent = event => {
        if (event.type === 'released') seen.push([event.group, marks()])
      }
      const { consumerGroups } = await target.restore()
      assert.ok(consumerGroups.groups.every(({ isEarly }) => isEarly))
      assert.deepEqual(seen, [
        ['billing', 12],
        ['search', 12],
      ])
      commit(target, 'billing', { 'orders/0': 6n })
      commit(target, 'search', { 'orders/0': 5n })
      assert.deepEqual((await target.restore()).consumerGroups.totals, { groups: 2, committed: 0, kept: 2, failed: 0 })
    }))

  test('a group of a topic that an earlier run has noted as filled in part may read on before the next run', () =>
    withGroups(async target => {
      const { carry } = target
      await target.restore()
      for (const group of ['billing', 'search']) target.groups.delete(group)
      // As a run leaves them that was killed between two requests for the notes of many partitions.
      for (const [key, stage] of Object.entries({ 'orders/0': 1, 'orders/1': 0, 'audit/0': 0 })) {
        const note = target.notes.get(key)
        const { x: _, ...rest } = JSON.parse(note?.metadata ?? '{}')
        if (note) note.metadata = JSON.stringify({ ...rest, d: stage })
      }
      target.carry = { ...carry, release: 'per_topic' }
      assert.deepEqual((await target.restore()).consumerGroups.totals, { groups: 2, committed: 2, kept: 0, failed: 0 })
      commit(target, 'billing', { 'orders/0': 4n, 'orders/1': 6n })
      commit(target, 'search', { 'orders/0': 5n })
      assert.deepEqual((await target.restore()).consumerGroups.totals, { groups: 2, committed: 0, kept: 2, failed: 0 })
    }))
})

const SETTING = 'offset.metadata.max.bytes'

function encodeBrokerConfig(name: string, value: string): Writer {
  const writer = new Writer().int32(0)
  const config = () => {
    writer.string(name).string(value).boolean(false).int8(4).boolean(false)
    writer.array([], () => undefined)
    writer.int8(2).string(null).noTags()
  }
  const broker = () => writer.int16(0).string(null).int8(4).string('0').array([0], config).noTags()
  return writer.array([0], broker).noTags()
}

describe('a broker that takes less metadata of offsets than by default', () => {
  const many = Array.from({ length: 100 }, (_, i) => groupOn(`group-${i}`, { 'orders/0': 2n }))
  const totals = { groups: 100, committed: 0, kept: 0, failed: 0 }
  const advance = (target: FakeTarget) => many.forEach(({ group }) => void commit(target, group, { 'orders/0': 6n }))

  // Groups whose early note is refused are reported as kept at the end.
  for (const [release, outcome] of [
    ['end', 'committed'],
    ['per_topic', 'kept'],
  ] as const) {
    test(`gets notes of fewer groups, and all groups keep their offsets (release: ${release})`, () =>
      withGroups(async target => {
        target.maxMetadataBytes = 512
        target.carry = { ...target.carry, release }
        assert.deepEqual((await target.restore()).consumerGroups.totals, { ...totals, [outcome]: 100 })
        advance(target)
        target.warned = []
        assert.deepEqual((await target.restore()).consumerGroups.totals, { ...totals, kept: 100 })
        assert.match(target.warned.join(), /group-99: the progress of this restore has no room to name it/)
        assert.deepEqual(offsetsOf(target, 'group-99'), { 'orders/0': 6n })
      }, many))
  }

  test('is refused by name where it has no room for notes at all, before anything is written', () =>
    withGroups(async target => {
      target.maxMetadataBytes = 128
      target.before = ({ key }) => (key === API.describeConfigs ? encodeBrokerConfig(SETTING, '128') : undefined)
      await assert.rejects(target.restore(), /target: its brokers take 128 bytes .*\(set offset\.metadata\.max\.bytes/)
      assert.deepEqual([target.fake.state.topics, target.notes.size], [[], 0])
    }))

  test('is named in the advice before records are written where the setting cannot be read', () =>
    withGroups(async target => {
      target.maxMetadataBytes = 128
      const named = ({ help }: { help: string }) => help.includes(`set ${SETTING} to 4096`)
      await assert.rejects(target.restore(), named)
      assert.deepEqual([target.log('orders'), target.notes.size], [[], 0])
    }))
})
