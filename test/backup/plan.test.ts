import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Manifest, ManifestPartition, ManifestTopic } from '../../src/archive/manifest.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import type { ObservedSource, ObservedTopic } from '../../src/backup/observed-source.ts'
import { planBackup } from '../../src/backup/plan.ts'

const now = '2026-01-02T03:04:05.000Z'

function observe(topics: ObservedTopic[], changes: Partial<ObservedSource> = {}): ObservedSource {
  const visible = new Set([...topics.map(({ name }) => name), 'a', 'b', 'c', 'd'])
  return { observedAt: now, clusterId: 'c1', brokers: 3, topics, visible, warnings: [], ...changes }
}

function seen(
  name: string,
  id: string,
  ...bounds: [logStart: bigint, lastStable: bigint, highWatermark?: bigint][]
): ObservedTopic {
  const partitions = bounds.map(([logStart, lastStable, highWatermark = lastStable], partition) => ({
    partition,
    bounds: { logStart, lastStable, highWatermark },
  }))
  return {
    name,
    id,
    internal: false,
    replicationFactor: 3,
    configs: { 'retention.ms': '1' },
    effectiveConfigs: { 'cleanup.policy': 'delete', 'retention.ms': '1' },
    partitions,
    leaderless: [],
  }
}

function diverged(topic: ObservedTopic, endOffset: bigint | undefined): ObservedTopic {
  const divergence = { storedEpoch: 7, endOffset }
  return { ...topic, partitions: topic.partitions.map(one => ({ ...one, divergence })) }
}

function held(
  name: string,
  id: string,
  state: ManifestTopic['state'],
  ...partitions: Partial<ManifestPartition>[]
): ManifestTopic {
  const full = partitions.map((one, partition) => ({ ...emptyPartition(partition, 0n), records: 7, ...one }))
  return { name, id, state, internal: false, replication_factor: 1, configs: {}, partitions: full }
}

function manifest(topics: ManifestTopic[], clusterId: string | null = 'c1'): Manifest {
  return {
    format: 'kafka-backup',
    format_version: 1,
    tool_version: '0',
    backup_id: 'b1',
    generation: 4,
    run: 'r',
    complete: true,
    created_at: now,
    started_at: now,
    cluster: { id: clusterId, brokers: 3 },
    selection: { include: ['*'], exclude: [] },
    topics,
    warnings: [],
  }
}

describe('the plan of a backup', () => {
  test('keeps partitions that the cluster does not show at the moment, and says so', () => {
    const before = manifest([held('a', 'id1', 'current', { end_offset: 40n }, { end_offset: 9n })])
    const plan = planBackup(observe([seen('a', 'id1', [0n, 50n])]), before, now)
    assert.deepEqual(
      plan.topics[0]?.partitions.map(({ durable, end }) => [durable.partition, durable.records, end]),
      [
        [0, 7, 50n],
        [1, 7, 9n],
      ],
    )
    assert.match(plan.warnings.join(), /a\/1: is not shown by the cluster at the moment/)
  })

  test('has one gap where retention passed offsets that could not be read before', () => {
    const gap = { from: 40n, to: null, reason: 'unreadable', found_at: now } as const
    const before = manifest([held('a', 'id1', 'current', { end_offset: 40n, gaps: [gap] })])
    const plan = planBackup(observe([seen('a', 'id1', [60n, 80n])]), before, now)
    assert.deepEqual(plan.topics[0]?.partitions[0]?.durable.gaps, [
      { from: 40n, to: 60n, reason: 'retention', found_at: now },
    ])
  })

  test('loses nothing of a topic that counts as replaced when a broker shows it again', () => {
    const before = manifest([
      held('a', 'id1', 'replaced', { end_offset: 40n }),
      held('a', 'id2', 'current', { end_offset: 5n }),
    ])
    const plan = planBackup(observe([seen('a', 'id1', [0n, 40n])]), before, now)
    assert.deepEqual(
      plan.topics.map(({ id, state, partitions }) => [
        id,
        state,
        partitions[0]?.durable.records,
        partitions[0]?.durable.end_offset,
      ]),
      [
        ['id2', 'replaced', 7, 5n],
        ['id1', 'current', 7, 40n],
      ],
    )
  })

  test('takes a new topic from the start of its log to its last stable offset', () => {
    const plan = planBackup(observe([seen('a', 'id1', [5n, 90n, 90n], [0n, 0n])]), undefined, now)
    const [topic] = plan.topics
    assert.ok(topic)
    const { partitions, ...settings } = topic
    assert.deepEqual(settings, {
      name: 'a',
      id: 'id1',
      state: 'current',
      internal: false,
      replication_factor: 3,
      configs: { 'retention.ms': '1' },
      effective_configs: { 'cleanup.policy': 'delete', 'retention.ms': '1' },
    })
    const marks = { high_watermark: 90n, last_stable_offset: 90n }
    const first = { durable: { ...emptyPartition(0, 5n), ...marks }, end: 90n, logStart: 5n, newGaps: [] }
    assert.deepEqual(partitions, [first, { durable: emptyPartition(1, 0n), end: 0n, logStart: 0n, newGaps: [] }])
    assert.deepEqual(plan.warnings, [])
  })

  test('goes on where the backup ends, and takes in partitions that are new', () => {
    const previous = manifest([held('a', 'id1', 'current', { end_offset: 40n })])
    const plan = planBackup(observe([seen('a', 'id1', [10n, 90n], [3n, 8n])]), previous, now)
    const [first, second] = plan.topics[0]?.partitions ?? []
    assert.deepEqual([first?.durable.end_offset, first?.end, first?.durable.records], [40n, 90n, 7])
    assert.deepEqual([second?.durable.start_offset, second?.durable.end_offset, second?.end], [3n, 3n, 8n])
    assert.equal(plan.topics[0]?.configs['retention.ms'], '1', 'the settings are those of now')
  })

  test('has nothing to do where the source stands still, also when a whole batch across the end was kept', () => {
    const previous = manifest([held('a', 'id1', 'current', { end_offset: 92n })])
    const plan = planBackup(observe([seen('a', 'id1', [0n, 90n, 95n])]), previous, now)
    const [partition] = plan.topics[0]?.partitions ?? []
    assert.deepEqual([partition?.durable.end_offset, partition?.end, partition?.newGaps], [92n, 90n, []])
  })

  test('records what retention removed since as a gap, and goes on behind it', () => {
    const previous = manifest([held('a', 'id1', 'current', { end_offset: 40n })])
    const plan = planBackup(observe([seen('a', 'id1', [55n, 90n])]), previous, now)
    const [partition] = plan.topics[0]?.partitions ?? []
    const gap = { from: 40n, to: 55n, reason: 'retention', found_at: now }
    assert.deepEqual(partition?.newGaps, [gap])
    assert.deepEqual(partition?.durable.gaps, [gap])
    assert.equal(partition?.durable.end_offset, 55n)
  })

  test('has no gap where the log starts exactly at the end of the backup', () => {
    const previous = manifest([held('a', 'id1', 'current', { end_offset: 40n })])
    const [partition] = planBackup(observe([seen('a', 'id1', [40n, 90n])]), previous, now).topics[0]?.partitions ?? []
    assert.deepEqual(partition?.newGaps, [])
  })

  test('refuses a source that has lost what the backup holds', () => {
    const previous = manifest([held('a', 'id1', 'current', { end_offset: 40n })])
    const plan = () => planBackup(observe([seen('a', 'id1', [0n, 39n])]), previous, now)
    assert.throws(plan, { code: 'SOURCE_TRUNCATED', message: /a\/0 ends at 39, .* up to 40/ })
  })

  test('refuses a source whose log has another history, though it is longer than the backup', () => {
    const previous = manifest([held('a', 'id1', 'current', { end_offset: 40n, last_epoch: 7 })])
    const plan = (endOffset: bigint | undefined) => () =>
      planBackup(observe([diverged(seen('a', 'id1', [0n, 90n]), endOffset)]), previous, now)
    assert.throws(plan(25n), { code: 'SOURCE_TRUNCATED', message: /a\/0 .*epoch 7 up to offset 40.*ends at 25/ })
    assert.throws(plan(undefined), { code: 'SOURCE_TRUNCATED', message: /a\/0 .*does not know that epoch/ })
  })

  const truncations: [string, ObservedTopic][] = [
    ['is shorter than the backup', seen('a', 'id1', [0n, 39n])],
    ['has another history', diverged(seen('a', 'id1', [0n, 90n]), 25n)],
  ]
  for (const [how, topic] of truncations) {
    test(`starts a new incarnation of a topic that ${how} where the job allows it`, () => {
      const previous = manifest([held('a', 'id1', 'current', { end_offset: 40n, last_epoch: 7, segments: 1 })])
      const plan = planBackup(observe([topic]), previous, now, { onTruncation: 'new_incarnation' })
      const [old, fresh] = plan.topics
      assert.deepEqual([old?.id, old?.incarnation, old?.state, old?.replaced_at], ['id1', undefined, 'replaced', now])
      assert.deepEqual(old?.partitions[0]?.newGaps, [
        { from: 40n, to: null, reason: 'source_truncated', found_at: now },
      ])
      assert.deepEqual([old?.partitions[0]?.durable.end_offset, old?.partitions[0]?.durable.segments], [40n, 1])
      assert.deepEqual([fresh?.id, fresh?.incarnation, fresh?.state], ['id1', 2, 'current'])
      assert.deepEqual(fresh?.partitions[0]?.durable.end_offset, 0n)
      assert.ok(plan.warnings.some(line => /topic a starts a new incarnation/.test(line)))
    })
  }

  test('continues the newest incarnation of a topic ID, and starts the next one when it is truncated in turn', () => {
    const first = held('a', 'id1', 'replaced', { end_offset: 40n })
    const previous = manifest([first, { ...held('a', 'id1', 'current', { end_offset: 20n }), incarnation: 2 }])
    const plan = planBackup(observe([seen('a', 'id1', [0n, 30n])]), previous, now)
    assert.deepEqual(
      plan.topics.map(({ incarnation, state, partitions }) => [incarnation, state, partitions[0]?.durable.end_offset]),
      [
        [undefined, 'replaced', 40n],
        [2, 'current', 20n],
      ],
    )
    assert.deepEqual(plan.warnings, [])
    const next = planBackup(observe([seen('a', 'id1', [0n, 10n])]), previous, now, { onTruncation: 'new_incarnation' })
    assert.deepEqual(
      next.topics.map(({ incarnation, state }) => [incarnation, state]),
      [
        [undefined, 'replaced'],
        [2, 'replaced'],
        [3, 'current'],
      ],
    )
  })

  test('starts a new incarnation of a topic that the run names, and refuses a name that it does not back up', () => {
    const previous = manifest([held('a', 'id1', 'current', { end_offset: 40n })])
    const asked = (name: string) =>
      planBackup(observe([seen('a', 'id1', [0n, 90n])]), previous, now, {
        onTruncation: 'fail',
        newIncarnations: [name],
      })
    assert.deepEqual(
      asked('a').topics.map(({ incarnation, state }) => [incarnation, state]),
      [
        [undefined, 'replaced'],
        [2, 'current'],
      ],
    )
    assert.throws(() => asked('b'), { code: 'USAGE', message: /no topic b/ })
  })

  test('keeps the committed offsets of groups with the topic that they were taken of', () => {
    const groups = { taken_at: now, key: 'b1/kafka/groups-4.r.json', size: 9, blake3: 'f'.repeat(64) }
    const consumer_groups = { state: 'taken' as const, ...groups, groups: 1, positions: 1, errors: 0 }
    const previous = { ...manifest([held('a', 'old', 'current', { end_offset: 40n })]), consumer_groups }
    const [old, fresh] = planBackup(observe([seen('a', 'new', [0n, 5n])]), previous, now).topics
    assert.deepEqual([old?.consumer_groups, fresh?.consumer_groups], [consumer_groups, undefined])
    const later = {
      ...previous,
      topics: [{ ...held('a', 'old', 'absent'), consumer_groups }],
      consumer_groups: undefined,
    }
    const known = { backup_id: 'b1', cluster: later.cluster, topics: later.topics }
    assert.deepEqual(planBackup(observe([]), known, now).topics[0]?.consumer_groups, consumer_groups)
    const back = planBackup(observe([seen('a', 'old', [0n, 50n])]), known, now).topics[0]
    assert.deepEqual([back?.state, back?.consumer_groups], ['current', undefined])
  })

  test('keeps a topic that was re-created beside the new one, with a gap that has no end', () => {
    const previous = manifest([held('a', 'old', 'current', { end_offset: 40n })])
    const plan = planBackup(observe([seen('a', 'new', [0n, 5n])]), previous, now)
    assert.deepEqual(
      plan.topics.map(({ id, state }) => [id, state]),
      [
        ['old', 'replaced'],
        ['new', 'current'],
      ],
    )
    const [old] = plan.topics[0]?.partitions ?? []
    assert.deepEqual(old?.newGaps, [{ from: 40n, to: null, reason: 'topic_recreated', found_at: now }])
    assert.equal(old?.durable.end_offset, 40n)
    assert.ok(old && old.end <= old.durable.end_offset, 'nothing is copied of it')
    const [fresh] = plan.topics[1]?.partitions ?? []
    assert.deepEqual([fresh?.durable.end_offset, fresh?.end, fresh?.durable.records], [0n, 5n, 0])
    assert.ok(plan.warnings.some(line => line.includes('deleted and created again')))
  })

  test('says that a topic was re-created only once', () => {
    const previous = manifest([
      held('a', 'old', 'replaced', { end_offset: 40n }),
      held('a', 'new', 'current', { end_offset: 5n }),
    ])
    const plan = planBackup(observe([seen('a', 'new', [0n, 6n])]), previous, now)
    assert.deepEqual(plan.warnings, [])
    assert.deepEqual(plan.topics[0]?.partitions[0]?.newGaps, [])
    assert.equal(plan.topics[1]?.partitions[0]?.durable.end_offset, 5n)
  })

  test('keeps a topic that is no longer selected, and goes on with it when it is selected again', () => {
    const previous = manifest([
      held('a', 'id1', 'current', { end_offset: 40n }),
      held('b', 'id2', 'current', { end_offset: 3n }),
    ])
    const without = planBackup(observe([seen('b', 'id2', [0n, 9n])]), previous, now)
    assert.deepEqual(
      without.topics.map(({ name, state }) => [name, state]),
      [
        ['a', 'absent'],
        ['b', 'current'],
      ],
    )
    assert.deepEqual(without.topics[0]?.partitions[0]?.newGaps, [])
    const back = manifest([held('a', 'id1', 'absent', { end_offset: 40n })])
    const [again] = planBackup(observe([seen('a', 'id1', [0n, 50n])]), back, now).topics
    assert.deepEqual([again?.state, again?.partitions[0]?.durable.end_offset], ['current', 40n])
  })

  test('refuses another cluster under the same id; an unknown one on either side passes', () => {
    const previous = manifest([], 'c2')
    assert.throws(() => planBackup(observe([]), previous, now), {
      code: 'CONFIG_INVALID',
      message: /holds cluster c2.*c1/,
    })
    assert.doesNotThrow(() => planBackup(observe([], { clusterId: null }), previous, now))
    assert.doesNotThrow(() => planBackup(observe([]), manifest([], null), now))
  })

  test('warns of an open transaction with what it keeps out', () => {
    const { warnings } = planBackup(
      observe([seen('a', 'id1', [0n, 90n, 93n])], { warnings: ['earlier'] }),
      undefined,
      now,
    )
    assert.deepEqual(warnings, [
      'earlier',
      'a/0: an open transaction keeps the newest 3 offsets (90 to 93) out of this backup',
    ])
  })
})
