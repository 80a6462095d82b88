import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ManifestTopic } from '../../src/archive/manifest.ts'
import type { RestoreOptions } from '../../src/restore/options.ts'
import { planRestore } from '../../src/restore/plan.ts'
import { examineTarget } from '../../src/restore/preflight.ts'
import type { RestoreProgress } from '../../src/restore/progress.ts'
import { planSettings } from '../../src/restore/topic-settings.ts'
import { encodeRun } from '../fakes/batches.ts'
import { type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { plainOptions } from './plain-options.ts'
import { identity, manifestOf, samplePartition, sampleTopic } from './samples.ts'

const never = new AbortController().signal
const now = Date.parse('2026-01-02T00:00:00Z')
const old = BigInt(now) - 30n * 86_400_000n

async function findingsOf(
  source: ManifestTopic[],
  target: FakeTopic[],
  changes: Partial<RestoreOptions> = {},
  progress?: RestoreProgress,
): Promise<string[]> {
  const fake = await startFakeCluster(target)
  try {
    const options = { ...plainOptions(changes), nowMs: now }
    const plan = planRestore(manifestOf(source), options)
    const { findings } = await examineTarget(await fake.open(), plan, options, progress, never)
    return findings.map(({ severity, topic, problem }) => `${severity} ${topic}: ${problem}`)
  } finally {
    await fake.close()
  }
}

const aged = (name: string, configs: Record<string, string> = {}) =>
  sampleTopic(name, 0, { configs, partitions: [samplePartition(0, { first_timestamp: old, last_timestamp: old })] })

describe('the look at the target', () => {
  test('finds nothing against new topics and against empty ones', async () => {
    assert.deepEqual(await findingsOf([sampleTopic('a', 2), sampleTopic('b', 1)], [fakeTopic('a', [[], []])]), [])
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
      sampleTopic('b', 1),
      aged('c'),
      sampleTopic('d', 1, three),
      sampleTopic('e', 1, inSync),
    ]
    assert.deepEqual(await findingsOf(source, target, { createTopics: false }), [
      'error a: it has 1 partitions on the target, and 2 are needed',
      'error a: it already has records in 1 of its partitions, and not of this restore',
      'error b: its message.timestamp.type is LogAppendTime: every record would get the time of the restore',
      'error b: it is compacted on the target and was not at the source: records of one key would go',
      'warning c: it takes batches of 1000 bytes, and the source took 1048588',
      'error c: its newest record is 30 days old; its retention of 5000 ms would delete all of it at once',
      'error d: it does not exist',
      'error d: 3 copies need as many brokers; the target has 1',
      'error e: it does not exist',
      'error e: its min.insync.replicas is 2, which 1 copies never reach',
    ])
  })

  test('minds the retention that the topic will have, unless the job says what to do', async () => {
    const error = [
      'error a: its newest record is 30 days old; its retention of 604800000 ms would delete all of it at once',
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
      'error a: its message.timestamp.before.max.ms of 1000 refuses times that the backup holds',
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
      return { identity, generation: 1, fingerprint: '', streams, runs: new Set() }
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
        `error a: it has ${count} partitions on the target, and its keys would be placed among 3`,
      ])
    }
  })

  test('lets records be added where that is asked for', async () => {
    const target = [fakeTopic('a', [[encodeRun(0n, 3)]])]
    assert.deepEqual(await findingsOf([sampleTopic('a', 1)], target, { existingTopics: 'append' }), [])
  })
})
