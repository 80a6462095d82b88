import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ManifestTopic } from '../../src/archive/manifest.ts'
import type { Finding } from '../../src/observe/finding.ts'
import { judgeExtra } from '../../src/restore/existing-partitions.ts'
import { type PlannedTopic, planRestore } from '../../src/restore/plan.ts'
import { type Circumstances, examineTarget } from '../../src/restore/preflight.ts'
import type { RestoreProgress } from '../../src/restore/progress.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import { joinExtents, nothingRestored, type RestoredExtent } from '../../src/restore/restored-extent.ts'
import { planSettings } from '../../src/restore/topic-settings.ts'
import { encodeRun } from '../fakes/batches.ts'
import { type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { plainOptions } from './plain-options.ts'
import { identity, manifestOf, samplePartition, sampleTopic } from './samples.ts'

const never = new AbortController().signal
const now = Date.parse('2026-01-02T00:00:00Z')
const old = BigInt(now) - 30n * 86_400_000n

async function findingsOf(...args: Parameters<typeof examine>): Promise<string[]> {
  const findings = await examine(...args)
  return findings.map(({ severity, subject, problem }) => `${severity} ${subject}: ${problem}`)
}

async function examine(
  source: ManifestTopic[],
  target: FakeTopic[],
  changes: Partial<RestoreOptions> = {},
  progress?: RestoreProgress,
  more: Partial<Circumstances> = {},
): Promise<readonly Finding[]> {
  const fake = await startFakeCluster(target)
  try {
    const options = plainOptions(changes)
    const plan = planRestore(manifestOf(source), options)
    const fixed = { defaults: new Map(), hidden: new Set<string>(), largestSegments: new Map() }
    const known = {
      progress,
      nowMs: now,
      ...fixed,
      extents: new Map(plan.topics.map(topic => [topic.name, extentOf(topic)])),
      readExtent: () => Promise.reject(new Error('all extents are exact')),
    }
    const cluster = await fake.open()
    const facts = { target: await cluster.metadata({ topics: null }, never), ...known, ...more }
    return (await examineTarget(cluster, plan, options, facts, never)).findings
  } finally {
    await fake.close()
  }
}

/** As if all of its partitions were restored whole. */
function extentOf({ legs }: PlannedTopic): RestoredExtent {
  const whole = legs.map(({ source: { first_timestamp: oldest, last_timestamp: newest, bytes } }) => ({
    oldest,
    newest,
    largestBytes: bytes,
  }))
  return whole.reduce(joinExtents, nothingRestored)
}

const aged = (name: string, configs: Record<string, string> = {}) =>
  sampleTopic(name, 0, { configs, partitions: [samplePartition(0, { first_timestamp: old, last_timestamp: old })] })

describe('the look at the target', () => {
  test('finds nothing against new topics and against empty ones', async () => {
    assert.deepEqual(await findingsOf([sampleTopic('a', 2), sampleTopic('b', 1)], [fakeTopic('a', [[], []])]), [])
  })

  test('names partitions without a leader, which nothing can be written to or is known of', async () => {
    const withoutLeader = (topic: FakeTopic, ...partitions: number[]): FakeTopic => ({
      ...topic,
      partitions: topic.partitions.map((one, i) => (partitions.includes(i) ? { ...one, leader: -1 } : one)),
    })
    const source = [sampleTopic('a', 2), sampleTopic('b', 1)]
    const target = [withoutLeader(fakeTopic('a', [[], []]), 1), withoutLeader(fakeTopic('b', [[], []]), 1)]
    const found = await findingsOf(source, target)
    assert.deepEqual(found.slice(0, 2), [
      'error topic a: partitions have no leader (a/1)',
      'warning topic b: partitions that are not restored have no leader, so whether they hold records is not known (b/1)',
    ])
    assert.deepEqual(await findingsOf([sampleTopic('a', 2)], [withoutLeader(fakeTopic('a', [[], []]), 0, 1)]), [
      'error topic a: partitions have no leader (a/0, a/1)',
    ])
  })

  test('tells all that it finds at once', async () => {
    const target = [
      fakeTopic('a', [[encodeRun(0n, 3)]]),
      fakeTopic('b', [[]], { configs: { 'message.timestamp.type': 'LogAppendTime', 'cleanup.policy': 'compact' } }),
      fakeTopic('c', [[]], { configs: { 'max.message.bytes': '1000', 'retention.ms': '5000' } }),
    ]
    const three = { replication_factor: 3 }
    const inSync = { replication_factor: 1, configs: { 'min.insync.replicas': '2' } }
    const source = [
      sampleTopic('a', 2),
      sampleTopic('b', 1, { effective_configs: { 'cleanup.policy': 'delete' } }),
      aged('c'),
      sampleTopic('d', 1, three),
      sampleTopic('e', 1, inSync),
    ]
    assert.deepEqual(await findingsOf(source, target, { createTopics: false }), [
      'error topic a: it has 1 partitions on the target, and 2 are needed',
      'error topic a: it already contains records that this restore did not write (1 partition)',
      'error topic b: its message.timestamp.type is LogAppendTime: every record would get the time of the restore',
      'error topic b: it is compacted on the target and was not at the source: compaction would delete older records of a key',
      'warning topic c: it takes batches of 1000 bytes, and the source took 1048588: a larger record would end the restore',
      'error topic c: its newest record is 30 days old; its retention of 5000 ms would delete all of it at once',
      'error topic d: it does not exist',
      'error topic d: 3 copies need as many brokers; the target has 1',
      'error topic e: it does not exist',
      'error topic e: its min.insync.replicas is 2, which 1 copies never reach',
    ])
  })

  test('minds the retention that the topic will have, unless the job says what to do', async () => {
    const error = [
      'error topic a: its newest record is 30 days old; its retention of 604800000 ms would delete all of it at once',
    ]
    assert.deepEqual(await findingsOf([aged('a')], []), error)
    assert.deepEqual(await findingsOf([aged('a')], [], { retention: 'hold' }), [])
    assert.deepEqual(await findingsOf([aged('a')], [], { retention: 'apply' }), [])
    assert.deepEqual(await findingsOf([aged('a', { 'retention.ms': '-1' })], []), [])
    assert.deepEqual(await findingsOf([aged('a', { 'cleanup.policy': 'compact' })], []), [])
    assert.deepEqual(await findingsOf([aged('a')], [], { topicConfig: new Map([['retention.ms', '-1']]) }), [])
  })

  test('minds the times that a topic refuses which was there before', async () => {
    const configs = {
      'retention.ms': '-1',
      'message.timestamp.before.max.ms': '1000',
      'message.timestamp.after.max.ms': '1000',
    }
    assert.deepEqual(await findingsOf([aged('a')], [fakeTopic('a', [[]], { configs })]), [
      'error topic a: its message.timestamp.before.max.ms of 1000 refuses times that the backup holds',
    ])
  })

  test('takes on a topic that a run had made before it died, and one whose records are all deleted', async () => {
    const configs = planSettings({}, new Map(), 'fail').whileFilling
    assert.deepEqual(await findingsOf([sampleTopic('a', 1)], [fakeTopic('a', [[]], { configs })]), [])
    const emptied = {
      ...fakeTopic('a', []),
      partitions: [fakePartition([], { logStart: 9n, highWatermark: 9n, lastStable: 9n })],
    }
    assert.deepEqual(await findingsOf([sampleTopic('a', 1)], [emptied]), [])
  })

  test('lets a restore go on that had given a topic its settings already', async () => {
    const target = [fakeTopic('a', [[encodeRun(0n, 3)]], { configs: { 'message.timestamp.type': 'LogAppendTime' } })]
    const place = { topic: 'a', partition: 0, targetOffset: 3n, sourcePartition: 0, sourceOffset: 200n, sequence: 3 }
    const noted = (isFilled: boolean): RestoreProgress => {
      const streams = new Map([['a/0', { ...place, isFilled, isDone: false }]])
      return { identity, generation: 1, fingerprint: '', streams }
    }
    assert.deepEqual(await findingsOf([sampleTopic('a', 1)], target, {}, noted(true)), [])
    assert.equal((await findingsOf([sampleTopic('a', 1)], target, {}, noted(false))).length, 1)
  })

  test('wants exactly as many partitions as keys are placed among', async () => {
    const byKey = { repartition: 'by_key' as const, partitionCount: new Map([['a', 3]]) }
    const there = (count: number) => [
      fakeTopic(
        'a',
        Array.from({ length: count }, () => []),
      ),
    ]
    assert.deepEqual(await findingsOf([sampleTopic('a', 2)], there(3), byKey), [])
    for (const count of [2, 4]) {
      assert.deepEqual(await findingsOf([sampleTopic('a', 2)], there(count), byKey), [
        `error topic a: it has ${count} partitions on the target, and its keys would be placed among 3`,
      ])
    }
  })

  test('lets records be added where that is asked for', async () => {
    const target = [fakeTopic('a', [[encodeRun(0n, 3)]])]
    assert.deepEqual(await findingsOf([sampleTopic('a', 1)], target, { existingTopics: 'append' }), [])
  })

  describe('refuses to add records where the progress of this restore is lost', () => {
    const filled = [[encodeRun(0n, 3)], [encodeRun(0n, 3)], []]
    const noteOf = (partition: number): RestoreProgress => {
      const place = { topic: 'a', partition, targetOffset: 3n, sourcePartition: partition, sourceOffset: 200n }
      const note = { ...place, sequence: 3, isFilled: false, isDone: false }
      const streams = new Map([[`a/${partition}`, note]])
      return { identity, generation: 1, fingerprint: '', streams }
    }
    const lost = 'error topic a: it contains records, and the target has lost the progress of this restore for it (a/1)'

    for (const existingTopics of ['fail', 'append'] as const) {
      test(`for some partitions (${existingTopics})`, async () => {
        const target = [fakeTopic('a', filled)]
        assert.deepEqual(await findingsOf([sampleTopic('a', 3)], target, { existingTopics }, noteOf(0)), [lost])
        const own = [fakeTopic('a', filled.slice(0, 1))]
        assert.deepEqual(await findingsOf([sampleTopic('a', 1)], own, { existingTopics }, noteOf(0)), [])
      })
    }

    test('and advises to delete the topic only where no others can have written to it', async () => {
      const { whileFilling: configs } = planSettings({}, new Map(), 'apply')
      const remedyOf = async (existingTopics: 'fail' | 'append', topic: FakeTopic) =>
        (await examine([sampleTopic('a', 3)], [topic], { existingTopics }, noteOf(0)))[0]?.remedy
      assert.match(String(await remedyOf('fail', fakeTopic('a', filled))), /\. Delete the topic/)
      assert.match(String(await remedyOf('append', fakeTopic('a', filled, { configs }))), /\. Delete the topic/)
      assert.match(String(await remedyOf('append', fakeTopic('a', filled))), /Do not delete the topic if others/)
    })

    test('as a whole, and the topic still has the settings of an unfinished restore', async () => {
      const { whileFilling: configs } = planSettings({}, new Map(), 'apply')
      const target = [fakeTopic('a', filled, { configs })]
      assert.deepEqual(await findingsOf([sampleTopic('a', 3)], target, { existingTopics: 'append' }), [
        'error topic a: a restore has created it, filled it in part and not finished, and the target has no progress of this restore for it (a/0, a/1)',
      ])
      assert.deepEqual(
        await findingsOf([sampleTopic('a', 3)], [fakeTopic('a', [[], [], []], { configs })], {
          existingTopics: 'append',
        }),
        [],
      )
    })
  })

  test('minds copies that can never be in sync, by the topic, by the job and by the default of the brokers', async () => {
    const single = (configs = {}) => [sampleTopic('a', 1, { replication_factor: 1, configs })]
    const problem = 'error topic a: its min.insync.replicas is 2, which 1 copies never reach'
    const defaults = new Map([['min.insync.replicas', { value: '2', source: 'server_properties' as const }]])
    assert.deepEqual(await findingsOf(single(), [], {}, undefined, { defaults }), [problem])
    assert.deepEqual(await findingsOf(single({ 'min.insync.replicas': '1' }), [], {}, undefined, { defaults }), [])
    const there = [fakeTopic('a', [[]], { configs: { 'min.insync.replicas': '2' } })]
    assert.deepEqual(await findingsOf(single(), there), [problem])
  })

  test('warns of a limit on sizes only where the backup may hold something larger', async () => {
    const source = [sampleTopic('a', 1, { configs: { 'max.message.bytes': '5000' } })]
    const lowered = { topicConfig: new Map([['max.message.bytes', '1000']]) }
    const sizes = (bytes: number) => ({ largestSegments: new Map([['a', bytes]]) })
    const problem =
      'warning topic a: it takes batches of 1000 bytes, and the source took 5000: a larger record would end the restore'
    assert.deepEqual(await findingsOf(source, [], lowered, undefined, sizes(1001)), [problem])
    assert.deepEqual(await findingsOf(source, [], lowered, undefined, sizes(1000)), [])
    const there = [fakeTopic('a', [[]], { configs: { 'max.message.bytes': '1000' } })]
    assert.deepEqual(await findingsOf(source, there, {}, undefined, sizes(1001)), [problem])
  })

  test('warns of what retention takes away soon, by age and by size', async () => {
    const partitions = [samplePartition(0, { first_timestamp: old, last_timestamp: BigInt(now), bytes: 5000 })]
    const source = (configs: Record<string, string>) => [sampleTopic('a', 0, { configs, partitions })]
    const byAge =
      'warning topic a: its oldest record is 30 days old; its retention of 604800000 ms will delete the older ones soon'
    const bySize =
      'warning topic a: a partition has 5000 bytes; its retention.bytes of 4999 will delete the older ones soon'
    assert.deepEqual(await findingsOf(source({}), []), [byAge])
    assert.deepEqual(await findingsOf(source({ 'retention.bytes': '4999' }), []), [byAge, bySize])
    assert.deepEqual(await findingsOf(source({ 'retention.ms': '-1', 'retention.bytes': '5000' }), []), [])
    assert.deepEqual(await findingsOf(source({}), [], { retention: 'hold' }), [])
  })

  test('counts with the retention that the brokers give a topic without its own', async () => {
    const defaults = (name: string, value: string) => ({
      defaults: new Map([[name, { value, source: 'other' as const }]]),
    })
    const found = (more: Partial<Circumstances>) => findingsOf([aged('a')], [], {}, undefined, more)
    assert.deepEqual(await found(defaults('log.retention.hours', '-1')), [])
    assert.deepEqual(await found(defaults('log.retention.hours', '1000')), [])
    assert.equal((await found(defaults('log.retention.minutes', '600'))).length, 1)
    assert.deepEqual(await found(defaults('log.retention.ms', '-1')), [])
  })

  test('reads when the newest record was written only where retention or limits of the target depend on it', async () => {
    const days = (count: bigint) => BigInt(now) - count * 86_400_000n
    let reads = 0
    const found = async (newestLeast: bigint, newest: bigint, target: FakeTopic[] = []) => {
      reads = 0
      const extent = { oldest: days(5n), newest, newestLeast, largestBytes: 1 }
      return findingsOf([aged('a')], target, {}, undefined, {
        extents: new Map([['a', extent]]),
        readExtent: async () => {
          reads++
          return { oldest: days(5n), newest: days(10n), largestBytes: 1 }
        },
      })
    }
    const tooOld =
      'error topic a: its newest record is 10 days old; its retention of 604800000 ms would delete all of it at once'
    assert.deepEqual([await found(days(6n), days(1n)), reads], [[], 0])
    assert.deepEqual([await found(days(11n), days(1n)), reads], [[tooOld], 1])
    assert.deepEqual([await found(days(11n), days(9n)), reads], [[tooOld], 1])
    const early = [fakeTopic('a', [[]], { configs: { 'message.timestamp.after.max.ms': '1000' } })]
    assert.deepEqual((await found(days(6n), days(-1n), early)).concat(String(reads)), [tooOld, '1'])
  })

  test('reports settings of the job that a topic has not got, because an earlier run created it without them', async () => {
    const { whileFilling } = planSettings({ 'max.message.bytes': '1000' }, new Map(), 'fail')
    const target = [fakeTopic('a', [[]], { configs: whileFilling })]
    const source = [sampleTopic('a', 1, { configs: { 'max.message.bytes': '1000' } })]
    const topicConfig = new Map([
      ['max.message.bytes', '5000'],
      ['retention.ms', '-1'],
    ])
    assert.deepEqual(await findingsOf(source, target, { topicConfig }), [
      'warning topic a: an earlier run has created it, and it keeps the settings from then; restore.topic_config asks for max.message.bytes: 5000, here 1000',
    ])
    assert.deepEqual(await findingsOf(source, target, { topicConfig: new Map([['max.message.bytes', '1000']]) }), [])
  })

  test('judges the size that a topic takes which an earlier run created, not the one that the job asks for now', async () => {
    const { whileFilling } = planSettings({}, new Map([['max.message.bytes', '1000']]), 'fail')
    const target = [fakeTopic('a', [[]], { configs: whileFilling })]
    assert.deepEqual(await findingsOf([sampleTopic('a', 1)], target), [
      'warning topic a: it takes batches of 1000 bytes, and the source took 1048588: a larger record would end the restore',
    ])
  })

  test('reports replicas that the job asks for and an existing topic does not have', async () => {
    const target = [fakeTopic('a', [[], []])]
    assert.deepEqual(await findingsOf([sampleTopic('a', 2)], target, { replicationFactor: 3 }), [
      'warning topic a: restore.replication_factor asks for 3 replicas, and the topic exists and has 1',
    ])
    assert.deepEqual(await findingsOf([sampleTopic('a', 2)], target, { replicationFactor: 1 }), [])
  })

  describe('refuses a topic with records in partitions that the backup does not have', () => {
    const target = [fakeTopic('a', [[], [], [encodeRun(0n, 3)]])]
    const more = /^warning topic a: it has 3 partitions on the target and 2 at the source/
    const extra =
      'error topic a: it already contains records that this restore did not write, in partitions that the backup does not have (a/2)'

    test('where the job restores all of it', async () => {
      const [warning = '', ...others] = await findingsOf([sampleTopic('a', 2)], target)
      assert.match(warning, more)
      assert.deepEqual(others, [extra])
    })

    test('but not where the job adds to it, selects or places partitions, and with a warning where it has begun', async () => {
      const note = { topic: 'a', targetOffset: 0n, sourceOffset: 0n, sequence: 0, isFilled: false, isDone: false }
      const streams = new Map([0, 1].map(n => [`a/${n}`, { ...note, partition: n, sourcePartition: n }]))
      const begun = { identity, generation: 1, fingerprint: '', streams }
      const found = async (changes: Partial<RestoreOptions>, progress?: RestoreProgress) =>
        (await findingsOf([sampleTopic('a', 2)], target, changes, progress)).filter(line => !more.test(line))
      assert.deepEqual(await found({ existingTopics: 'append' }), [])
      assert.deepEqual(await found({ partitions: new Map([['a', [0]]]) }), [])
      assert.deepEqual(
        await found({
          partitionMapping: new Map([
            [
              'a',
              new Map([
                [0, 1],
                [1, 0],
              ]),
            ],
          ]),
        }),
        [],
      )
      assert.deepEqual(await found({}, begun), [extra.replace('error', 'warning').replace('already ', '')])
      const filled = new Map([...streams].map(([key, one]) => [key, { ...one, isFilled: true }]))
      assert.deepEqual(await found({}, { ...begun, streams: filled }), [], 'it may be in use')
    })

    test('and where it has begun, shows how a verified restore can complete', () => {
      const [topic] = planRestore(manifestOf([sampleTopic('a', 2)]), plainOptions()).topics
      const note = { topic: 'a', partition: 0, targetOffset: 0n, sourcePartition: 0, sourceOffset: 0n, sequence: 0 }
      const streams = new Map([['a/0', { ...note, isFilled: false, isDone: false }]])
      const known = {
        bounds: new Map([['a/2', { logStart: 0n, highWatermark: 3n }]]),
        progress: { identity, generation: 1, fingerprint: '', streams },
      }
      const [found] = topic ? judgeExtra(topic, [{ topic: 'a', partition: 2 }], known, '') : []
      assert.match(found?.remedy ?? '', /with restore\.verify .* does not complete .* kafka-delete-records\.sh/)
    })
  })

  test('asks nothing about topics that the user may not look at', async () => {
    const target = [fakeTopic('a', [[encodeRun(0n, 3)]])]
    assert.deepEqual(await findingsOf([sampleTopic('a', 1)], target, {}, undefined, { hidden: new Set(['a']) }), [])
  })
})
