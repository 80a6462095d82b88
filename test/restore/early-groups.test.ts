import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { partitionKey } from '../../src/kafka/offsets.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { carryGroups } from '../../src/offsets/carry-groups.ts'
import type { CarriedGroup, CarryPlan } from '../../src/offsets/carry-plan.ts'
import type { CarryReport } from '../../src/offsets/carry-report.ts'
import type { NoteGiven } from '../../src/offsets/given-offsets.ts'
import type { OpenMaps } from '../../src/offsets/place-groups.ts'
import { EarlyGroups } from '../../src/restore/early-groups.ts'
import { startFakeCluster } from '../fakes/fake-cluster.ts'
import { type FakeGroup, type FakeGroups, fakeGroup, serveGroups } from '../fakes/fake-groups.ts'

const never = new AbortController().signal
const groupOn = (group: string, topics: readonly string[]): CarriedGroup => ({
  group,
  type: 'classic',
  target: `${group}-2`,
  leftOut: 0,
  positions: topics.map(topic => ({ topic, partition: 0, offset: 13n, leader_epoch: 7, metadata: '', lag: 0n })),
  streams: topics.map(topic => ({
    topic,
    partitions: [{ partition: 0, start: 10n, end: 20n, sourceEnd: 20n }],
    targetTopic: `${topic}-2`,
    targetPartition: 0,
  })),
})
const plan: CarryPlan = {
  findings: [],
  release: 'per_topic',
  groups: [groupOn('both', ['a', 'b']), groupOn('first', ['a']), groupOn('last', ['b'])],
}

/** Ten records from 10 on, at 0 to 9. */
const openMaps: OpenMaps = async function* (isWanted) {
  for (const topic of ['a', 'b']) {
    const place = { targetTopic: `${topic}-2`, targetPartition: 0 }
    if (!isWanted(place)) continue
    const runs = (async function* () {
      yield { partition: 0, sourceOffset: 10n, targetOffset: 0n, count: 10n }
    })()
    yield { topic, ...place, end: 10n, runs }
  }
}

async function withEarly(
  work: (world: {
    early: EarlyGroups
    release: (topic: string, note?: NoteGiven) => Promise<void>
    groups: FakeGroups
    finish: (left: CarryPlan) => Promise<CarryReport>
    told: ProgressEvent[]
    noted: string[]
  }) => unknown,
  all: Record<string, FakeGroup> = {},
  isGiven = false,
): Promise<void> {
  const fake = await startFakeCluster([], 1)
  try {
    const groups = serveGroups(fake, all)
    const cluster = await fake.open()
    const told: ProgressEvent[] = []
    const early = new EarlyGroups(plan, {
      cluster,
      onProgress: event => told.push(event),
      openMaps: async () => openMaps,
      isGiven: () => isGiven,
    })
    const noted: string[] = []
    const noteGiven: NoteGiven = async given =>
      void noted.push(...given.map(one => `${one.group} ${partitionKey(one)}`))
    const release = (topic: string, note = noteGiven) => early.release(topic, note, never)
    const finish = (left: CarryPlan) => {
      const parts = { cluster, onProgress: early.onProgressOfLeft, isGiven: () => isGiven, noteGiven }
      return carryGroups(left, openMaps, parts, never)
    }
    await work({ early, release, groups, finish, told, noted })
  } finally {
    await fake.close()
  }
}

const namesOf = ({ groups }: { groups: readonly { group: string }[] }) => groups.map(({ group }) => group)
const offsetsOf = ({ all }: FakeGroups, group: string) => [...(all.get(group)?.offsets ?? [])].map(([key]) => key)

describe('groups that are released before the end', () => {
  test('get their offsets when all their topics are restored, and not before', () =>
    withEarly(async ({ early, release, groups, told }) => {
      await release('a-2')
      assert.deepEqual([offsetsOf(groups, 'first-2'), offsetsOf(groups, 'both-2')], [['a-2/0'], []])
      assert.deepEqual(namesOf(early.left), ['both', 'last'])
      await release('b-2')
      assert.deepEqual(offsetsOf(groups, 'both-2'), ['a-2/0', 'b-2/0'])
      assert.deepEqual(namesOf(early.left), [])
      assert.deepEqual(
        told.map(event => event.type === 'released' && [event.group, event.done, event.total]),
        [
          ['first-2', 1, 3],
          ['both-2', 2, 3],
          ['last-2', 3, 3],
        ],
      )
    }))

  test('are reported in the order of the plan, together with those of the end', () =>
    withEarly(async ({ early, release, finish }) => {
      await release('a-2')
      const report = early.join(await finish(early.left))
      assert.deepEqual(
        report.groups.map(({ group, outcome, isEarly }) => [group, outcome, isEarly ?? false]),
        [
          ['both', 'committed', false],
          ['first', 'committed', true],
          ['last', 'committed', false],
        ],
      )
      assert.deepEqual(report.totals, { groups: 3, committed: 3, kept: 0, failed: 0 })
    }))

  test('keep what they have, as at the end: an earlier run has set it, and consumers have advanced since', () =>
    withEarly(
      async ({ early, release, groups }) => {
        await release('a-2')
        assert.equal(groups.all.get('first-2')?.offsets.get('a-2/0')?.offset, 9n)
        assert.deepEqual(
          early
            .join({ groups: [], totals: { groups: 0, committed: 0, kept: 0, failed: 0 } })
            .groups.map(one => one.outcome),
          ['kept'],
        )
      },
      { 'first-2': fakeGroup({ 'a-2/0': 9n }) },
      true,
    ))

  test('are noted before they are reported; where that fails, they are not reported, and the end notes them', () =>
    withEarly(async ({ early, release, finish, told, noted }) => {
      const failed = new KafkaBackupError('KAFKA_NOT_READY', 'no coordinator')
      await assert.rejects(
        release('a-2', () => Promise.reject(failed)),
        failed,
      )
      assert.deepEqual([told.filter(({ type }) => type === 'released'), namesOf(early.left).length], [[], 3])
      await release('b-2', async () => assert.equal(told.filter(({ type }) => type === 'released').length, 0))
      assert.deepEqual(namesOf(early.left), ['first'])
      const { totals } = early.join(await finish(early.left))
      assert.deepEqual([totals, noted], [{ groups: 3, committed: 2, kept: 1, failed: 0 }, ['first-2 a-2/0']])
    }))

  test('fail alone where something else has committed for them, at the end too', () =>
    withEarly(
      async ({ early, release, finish }) => {
        await release('a-2')
        await release('b-2')
        const { groups, totals } = early.join(await finish(early.left))
        assert.deepEqual(totals, { groups: 3, committed: 2, kept: 0, failed: 1 })
        assert.match(groups[1]?.error ?? '', /offset 9 of group first-2 on a-2\/0 is not one that this restore wrote/)
      },
      { 'first-2': fakeGroup({ 'a-2/0': 9n }) },
    ))

  test('that fail are warned of and left for the end; the others continue', () =>
    withEarly(
      async ({ early, release, groups, finish, told }) => {
        await release('a-2')
        assert.match(
          told.map(event => (event.type === 'warning' ? event.message : '')).join(),
          /^group first-2: .*at the end/,
        )
        assert.deepEqual(namesOf(early.left), ['both', 'first', 'last'])
        const first = groups.all.get('first-2')
        if (first) first.commitError = 0
        const { totals } = early.join(await finish(early.left))
        assert.deepEqual(totals, { groups: 3, committed: 3, kept: 0, failed: 0 })
      },
      { 'first-2': fakeGroup({}, { commitError: 30 }) },
    ))

  test('count on from those that were released before', () =>
    withEarly(async ({ early, release, finish, told }) => {
      await release('a-2')
      await finish(early.left)
      const counts = told.flatMap(event => (event.type === 'groups' ? [[event.done, event.total]] : []))
      assert.deepEqual(counts, [
        [2, 3],
        [3, 3],
      ])
    }))
})
