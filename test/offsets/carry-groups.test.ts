import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import type { Cluster } from '../../src/kafka/cluster.ts'
import { carryGroups } from '../../src/offsets/carry-groups.ts'
import type { CarriedStream, CarryPlan } from '../../src/offsets/carry-plan.ts'
import { findCrowded, type GivenOffset, type IsGiven, type NoteGiven } from '../../src/offsets/given-offsets.ts'
import type { OpenMaps } from '../../src/offsets/place-groups.ts'
import { surveyCarry } from '../../src/offsets/survey-groups.ts'
import { startFakeCluster } from '../fakes/fake-cluster.ts'
import { type FakeGroup, type FakeGroups, fakeGroup, serveGroups } from '../fakes/fake-groups.ts'
import { serveShareGroups } from '../fakes/fake-share-groups.ts'

const never = new AbortController().signal
const stream = (partition: number): CarriedStream => ({
  topic: 'a',
  partitions: [{ partition, start: 10n, end: 20n, sourceEnd: 20n }],
  targetTopic: 'a-2',
  targetPartition: partition,
})
const planOf = (names: readonly string[], offset = 13n): CarryPlan => ({
  findings: [],
  groups: names.map(group => ({
    group,
    type: 'classic' as const,
    target: group,
    streams: [stream(0), stream(1)],
    leftOut: 0,
    positions: [0, 1].map(partition => ({
      topic: 'a',
      partition,
      offset,
      leader_epoch: 7,
      metadata: `of ${group}`,
      lag: 0n,
    })),
  })),
})

/** The same plan for share groups, which have no metadata. */
const shared = (plan: CarryPlan): CarryPlan => ({
  ...plan,
  groups: plan.groups.map(one => ({
    ...one,
    type: 'share',
    positions: one.positions.map(position => ({ ...position, metadata: '' })),
  })),
})

/** Ten records from 10 on, at 0 to 9. */
const openMaps: OpenMaps = async function* (isWanted) {
  for (const targetPartition of [0, 1]) {
    const place = { targetTopic: 'a-2', targetPartition }
    if (!isWanted(place)) continue
    const runs = (async function* () {
      yield { partition: targetPartition, sourceOffset: 10n, targetOffset: 0n, count: 10n }
    })()
    yield { topic: 'a', ...place, end: 10n, runs }
  }
}

async function* hidden(): AsyncGenerator<never> {
  yield await Promise.reject(new KafkaBackupError('KAFKA_NOT_READY', 'a transaction hides a-2/1'))
}

async function withGroups(
  all: Record<string, FakeGroup>,
  work: (cluster: Cluster, groups: FakeGroups) => Promise<void>,
  hasShareApi = false,
): Promise<void> {
  const fake = await startFakeCluster([], 1)
  try {
    const groups = serveGroups(fake, all)
    if (hasShareApi) serveShareGroups(fake, groups)
    await work(await fake.open(), groups)
  } finally {
    await fake.close()
  }
}

const notGiven: IsGiven = () => false
const run = (cluster: Cluster, plan: CarryPlan, maps = openMaps, noted: Partial<Noted> = {}) => {
  const nothing = { onProgress: () => undefined, isGiven: notGiven, noteGiven: async () => undefined }
  return carryGroups(plan, maps, { cluster, ...nothing, ...noted }, never)
}
interface Noted {
  isGiven: IsGiven
  noteGiven: NoteGiven
}

describe('carrying groups over', () => {
  test('commits where each goes on, with its metadata and without the epoch of the source', () =>
    withGroups({}, async (cluster, { all }) => {
      const report = await run(cluster, planOf(['g']))
      assert.deepEqual(report.totals, { groups: 1, committed: 1, kept: 0, failed: 0 })
      assert.deepEqual(
        [...(all.get('g')?.offsets ?? [])],
        [
          ['a-2/0', { offset: 3n, metadata: 'of g', epoch: -1 }],
          ['a-2/1', { offset: 3n, metadata: 'of g', epoch: -1 }],
        ],
      )
    }))

  test('sets the start offsets of a share group, and leaves those that it has alone', async () => {
    const work = async (cluster: Cluster, { all }: FakeGroups) => {
      const isGiven: IsGiven = ({ group }) => group === 'begun'
      const report = await run(cluster, shared(planOf(['fresh', 'begun'])), openMaps, { isGiven })
      assert.deepEqual(report.totals, { groups: 2, committed: 2, kept: 0, failed: 0 })
      const at = (group: string) => [...(all.get(group)?.offsets ?? [])].map(([key, { offset }]) => `${key} ${offset}`)
      assert.deepEqual([all.get('fresh')?.type, at('fresh')], ['Share', ['a-2/0 3', 'a-2/1 3']])
      assert.deepEqual(at('begun'), ['a-2/0 8', 'a-2/1 3'])
    }
    await withGroups({ begun: fakeGroup({ 'a-2/0': 8n, 'a-2/1': -1n }, { type: 'Share' }) }, work, true)
  })

  test('says how each position came about', () =>
    withGroups({}, async cluster => {
      const hows = async (offset: bigint) => {
        const { groups } = await run(cluster, planOf([`g${offset}`], offset))
        return groups[0]?.committed.map(({ how, targetOffset }) => `${how} ${targetOffset}`)[0]
      }
      assert.deepEqual(await Promise.all([0n, 10n, 19n, 20n, 21n].map(hows)), [
        'before_start 0',
        'exact 0',
        'exact 9',
        'at_end 10',
        'beyond 10',
      ])
    }))

  test('leaves alone what it is noted to have given, and reads no map where that is all', () =>
    withGroups(
      { g: fakeGroup({ 'a-2/0': 8n, 'a-2/1': 1n }), h: fakeGroup({ 'a-2/0': 8n }) },
      async (cluster, groups) => {
        const isGiven = () => true
        const noMaps = () => {
          throw new Error('no map is needed')
        }
        const kept = await run(cluster, planOf(['g']), noMaps, { isGiven })
        assert.deepEqual([kept.totals.kept, kept.groups[0]?.kept.length], [1, 2])
        const rest = await run(cluster, planOf(['h']), openMaps, { isGiven })
        assert.deepEqual([rest.totals.committed, rest.groups[0]?.kept.length], [1, 1])
        const offsets = [...(groups.all.get('h')?.offsets ?? [])].map(([key, { offset }]) => [key, offset])
        assert.deepEqual(offsets, [
          ['a-2/0', 8n],
          ['a-2/1', 3n],
        ])
      },
    ))

  test('an offset that is not noted fails its group alone, in every run, until it is deleted', () =>
    withGroups({ g1: fakeGroup({ 'a-2/1': 8n }) }, async (cluster, { all }) => {
      const plan = planOf(['g0', 'g1', 'g2'])
      for (const kept of [0, 2]) {
        const { totals, groups } = await run(cluster, plan)
        assert.deepEqual(totals, { groups: 3, committed: 2 - kept, kept, failed: 1 })
        assert.match(
          groups[1]?.error ?? '',
          /committed offset 8 of group g1 on a-2\/1 is not one that this restore wrote/,
        )
        assert.match(groups[1]?.error ?? '', /delete the offsets .* or .*restore\.consumer_groups\.exclude/)
        assert.deepEqual([...(all.get('g1')?.offsets ?? [])].length, 1, 'nothing was committed for it')
      }
      all.get('g1')?.offsets.clear()
      assert.deepEqual((await run(cluster, plan)).totals, { groups: 3, committed: 1, kept: 2, failed: 0 })
    }))

  test('an offset that something else commits while others are placed fails the group, and is not replaced', () =>
    withGroups({}, async (cluster, { all }) => {
      const maps: OpenMaps = isWanted => {
        all.set('g', fakeGroup({ 'a-2/0': 9n }))
        return openMaps(isWanted)
      }
      const { groups } = await run(cluster, planOf(['g']), maps)
      assert.match(groups[0]?.error ?? '', /committed offset 9 of group g on a-2\/0 is not one that this restore wrote/)
      assert.equal(all.get('g')?.offsets.get('a-2/0')?.offset, 9n)
    }))

  test('notes groups when their offsets are read back; a run that dies before that leaves them to the next one', () =>
    withGroups({}, async (cluster, { all }) => {
      const noted: GivenOffset[] = []
      const noteGiven: NoteGiven = async offsets => {
        assert.equal(all.get('g')?.offsets.size, 2)
        noted.push(...offsets)
      }
      const dies: NoteGiven = () => Promise.reject(new Error('killed'))
      await assert.rejects(run(cluster, planOf(['g', 'h']), openMaps, { noteGiven: dies }), /killed/)
      all.get('h')?.offsets.set('a-2/0', { offset: 4n, metadata: 'of h', epoch: -1 })
      const { groups } = await run(cluster, planOf(['g', 'h']), openMaps, { noteGiven })
      assert.deepEqual(
        groups.map(({ outcome, kept }) => [outcome, kept.length]),
        [
          ['kept', 2],
          ['failed', 2],
        ],
      )
      const places = [0, 1].map(partition => ({ group: 'g', source: 'g', topic: 'a-2', partition }))
      assert.deepEqual(noted, places, 'h may have read on, or something else has committed')
    }))

  test('one group that fails does not hide, and does not stop the others; the next run finishes it', () =>
    withGroups({ g3: fakeGroup({}, { members: 1 }) }, async (cluster, { all }) => {
      const names = Array.from({ length: 30 }, (_, i) => `g${i}`)
      const report = await run(cluster, planOf(names))
      assert.deepEqual(report.totals, { groups: 30, committed: 29, kept: 0, failed: 1 })
      const failed = report.groups.find(({ outcome }) => outcome === 'failed')
      assert.equal(failed?.group, 'g3')
      assert.match(failed?.error ?? '', /UNKNOWN_MEMBER_ID/)
      Object.assign(all.get('g3') ?? {}, { members: 0 })
      assert.deepEqual((await run(cluster, planOf(names))).totals, { groups: 30, committed: 1, kept: 29, failed: 0 })
    }))

  test('a partition of which no map tells anything fails its groups, and is not taken for kept', () =>
    withGroups({}, async cluster => {
      const maps: OpenMaps = isWanted => openMaps(place => place.targetPartition === 0 && isWanted(place))
      const { totals, groups } = await run(cluster, planOf(['g']), maps)
      assert.deepEqual(totals, { groups: 1, committed: 0, kept: 0, failed: 1 })
      assert.match(groups[0]?.error ?? '', /a-2\/1/)
    }))

  test('a partition whose records cannot be told fails the groups on it alone', () =>
    withGroups({}, async (cluster, { all }) => {
      const maps: OpenMaps = async function* (isWanted) {
        for await (const map of openMaps(isWanted)) yield map.targetPartition === 1 ? { ...map, runs: hidden() } : map
      }
      const plan = planOf(['both', 'other'])
      const groups = plan.groups.map(one => (one.group === 'both' ? one : { ...one, streams: [stream(0)] }))
      const report = await run(cluster, { ...plan, groups }, maps)
      assert.deepEqual(
        report.groups.map(({ group, outcome, error }) => [group, outcome, error]),
        [
          ['both', 'failed', 'a transaction hides a-2/1'],
          ['other', 'committed', undefined],
        ],
      )
      assert.equal(all.get('other')?.offsets.get('a-2/0')?.offset, 3n)
      assert.deepEqual((await run(cluster, plan)).totals, { groups: 2, committed: 2, kept: 0, failed: 0 })
    }))

  test('notices when the target does not hold what was committed', () =>
    withGroups({}, async (cluster, groups) => {
      const inner = groups.onCommit
      groups.onCommit = group => {
        // Somebody commits right behind us.
        queueMicrotask(() => groups.all.get(group)?.offsets.set('a-2/1', { offset: 99n, metadata: '', epoch: 0 }))
        return inner(group)
      }
      const {
        groups: [one],
      } = await run(cluster, planOf(['g']))
      assert.equal(one?.outcome, 'failed')
      assert.match(one?.error ?? '', /a-2\/1 of group g reads back as 99, not 3/)
    }))

  test('a consumer that joins before the offsets are read back fails its group in that run only', () =>
    withGroups({}, async (cluster, groups) => {
      const inner = groups.onCommit
      groups.onCommit = group => {
        queueMicrotask(() => groups.all.get(group)?.offsets.set('a-2/1', { offset: 5n, metadata: '', epoch: 0 }))
        return inner(group)
      }
      const noted: GivenOffset[] = []
      const noteGiven: NoteGiven = async offsets => void noted.push(...offsets)
      const isGiven: IsGiven = ({ group, partition }) =>
        noted.some(one => one.group === group && one.partition === partition)
      assert.equal((await run(cluster, planOf(['g']), openMaps, { isGiven, noteGiven })).totals.failed, 1)
      groups.onCommit = inner
      assert.equal((await run(cluster, planOf(['g']), openMaps, { isGiven, noteGiven })).totals.kept, 1)
      assert.equal(groups.all.get('g')?.offsets.get('a-2/1')?.offset, 5n)
    }))

  test('notes the offsets that a group got where the map says nothing of another partition', () =>
    withGroups({}, async cluster => {
      const noted: GivenOffset[] = []
      const noteGiven: NoteGiven = async offsets => void noted.push(...offsets)
      const maps: OpenMaps = isWanted => openMaps(place => place.targetPartition === 0 && isWanted(place))
      assert.equal((await run(cluster, planOf(['g']), maps, { noteGiven })).totals.failed, 1)
      assert.deepEqual(noted, [{ group: 'g', source: 'g', topic: 'a-2', partition: 0 }])
    }))
})

describe('before the first write', () => {
  const survey = async (all: Record<string, FakeGroup>, isGiven?: IsGiven) => {
    let told: string[] = []
    await withGroups(all, async cluster => {
      const findings = await surveyCarry(cluster, planOf(Object.keys(all)), { isGiven }, never)
      told = findings.map(({ severity, subject, problem }) => `${severity} ${subject}: ${problem}`)
    })
    return told
  }
  const done = { 'a-2/0': 1n, 'a-2/1': 1n }

  test('groups with members are named, of both protocols, unless they have all their positions', async () => {
    const all = {
      busy: fakeGroup({}, { members: 1 }),
      idle: fakeGroup(),
      modern: fakeGroup({ 'a-2/0': 4n }, { type: 'Consumer', members: 2 }),
      working: fakeGroup(done, { members: 3 }),
    }
    const rest = { busy: 'it has 1 active member on the target', modern: 'it has 2 active members on the target' }
    const { working: _, ...without } = all
    assert.deepEqual(await survey(without), [`error group busy: ${rest.busy}`, `error group modern: ${rest.modern}`])
    assert.deepEqual(
      await survey(all, () => true),
      [
        `warning group busy: ${rest.busy}, and gets no offsets while it has any`,
        `warning group modern: ${rest.modern}, and gets no offsets while it has any`,
      ],
      'a restore that has begun continues with the others',
    )
  })

  test('a group of the Streams protocol that the target does not have is a warning, and no error', async () => {
    await withGroups({}, async cluster => {
      const { groups, findings } = planOf(['app'])
      const plan = { findings, groups: groups.map(one => ({ ...one, type: 'streams' as const })) }
      const [found, ...more] = await surveyCarry(cluster, plan, {}, never)
      assert.deepEqual([found?.severity, found?.subject, more], ['warning', 'group app', []])
      assert.match(found?.problem ?? '', /Kafka 4\.2 and later convert it/)
    })
  })

  test('a share group tells what is delivered again and where it has no start offset; a target that cannot hold it is an error', async () => {
    const plan = shared(planOf(['queue']))
    const partial = { ...plan, groups: plan.groups.map(one => ({ ...one, unset: 1 })) }
    const told: string[] = []
    const work = async (cluster: Cluster) => {
      const findings = await surveyCarry(cluster, partial, {}, never)
      told.push(...findings.map(({ severity, problem }) => `${severity}: ${problem}`))
    }
    await withGroups({}, work, true)
    await withGroups({}, work)
    assert.deepEqual(
      told.map(text =>
        /^(error|warning): .*(delivered again|no start offset of 1 partition|has no share groups)/.exec(text)?.slice(1),
      ),
      [
        ['warning', 'delivered again'],
        ['warning', 'no start offset of 1 partition'],
        ['error', 'has no share groups'],
      ],
    )
  })

  test('a group of the same name and another type is an error, in both directions', async () => {
    const told = async (plan: CarryPlan, on: FakeGroup) => {
      const found: string[] = []
      const work = async (cluster: Cluster) => {
        found.push(
          ...(await surveyCarry(cluster, plan, {}, never)).map(({ severity, problem }) => `${severity}: ${problem}`),
        )
      }
      await withGroups({ g: on }, work, true)
      return found
    }
    assert.deepEqual(await told(shared(planOf(['g'])), fakeGroup()), [
      'error: it is a share group in the backup, and the target has a classic group of this name',
    ])
    assert.deepEqual(await told(planOf(['g']), fakeGroup({}, { type: 'Share' })), [
      'error: it is a classic group in the backup, and the target has a share group of this name',
    ])
  })

  test('positions that are there before the restore has begun are not of it', async () => {
    assert.deepEqual(await survey({ g: fakeGroup(done) }), [
      'error group g: it already has committed offsets on 2 of the partitions',
    ])
    assert.deepEqual(await survey({ g: fakeGroup(done) }, () => true), [])
    const [unnoted] = await survey({ g: fakeGroup(done) }, ({ partition }) => partition === 0)
    assert.match(
      unnoted ?? '',
      /^warning group g: .*on 1 of the partitions, which this restore has not noted as its own/,
    )
  })

  test('a partition with more groups than its note can name is a warning', () => {
    const { groups } = planOf(['g0', 'g1', 'g2'])
    assert.deepEqual(findCrowded(groups, 3), [])
    const [found, ...more] = findCrowded(groups, 2)
    assert.match(found?.problem ?? '', /^more than 2 groups get offsets on 2 partitions, such as 3 on a-2\/0, /)
    assert.deepEqual([found?.severity, more], ['warning', []])
  })

  test('a group that cannot be looked at is an error', async () => {
    const [told] = await survey({ g: fakeGroup({}, { readError: 30 }) })
    assert.match(told ?? '', /^error group g: .*GROUP_AUTHORIZATION_FAILED/)
    for (const [readError, code] of [
      [14, 'KAFKA_NOT_READY'],
      [30, 'KAFKA_DENIED'],
      [24, undefined],
    ] as const) {
      await withGroups({ g: fakeGroup({}, { readError }) }, async cluster => {
        const [found] = await surveyCarry(cluster, planOf(['g']), {}, never)
        assert.equal(found?.code, code, `${readError}`)
      })
    }
  })
})
