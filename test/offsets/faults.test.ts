import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kafkaOffsets } from '../../src/offsets/kafka-port.ts'
import { planOffsets } from '../../src/offsets/plan-offsets.ts'
import { runPlan } from '../../src/offsets/run-plan.ts'
import { type CommittingGroups, keepGroups } from '../fakes/committing-groups.ts'
import { type FakeCluster, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { memoryBook } from './fake-offsets.ts'

const never = new AbortController().signal
const UNKNOWN_MEMBER_ID = 25
const GROUP_AUTHORIZATION_FAILED = 30
const COORDINATOR_LOAD_IN_PROGRESS = 14
const PARTITIONS = 6

/** 200 groups with six positions each, on two coordinators. */
async function withGroups(work: (fake: FakeCluster, groups: CommittingGroups) => Promise<void>): Promise<void> {
  const topic = fakeTopic(
    'orders',
    Array.from({ length: PARTITIONS }, () => []),
  )
  topic.partitions = topic.partitions.map(() => fakePartition([], { highWatermark: 100n, lastStable: 100n }))
  const fake = await startFakeCluster([topic, fakeTopic('__consumer_offsets', [[]], { internal: true })], 2)
  const groups = keepGroups(fake)
  groups.coordinatorOf = group => Number(group.slice(1)) % 2
  for (let i = 0; i < 200; i++) {
    const positions = Array.from({ length: PARTITIONS }, (_, p) => [`orders/${p}`, BigInt(p)] as const)
    groups.positions.set(`g${i}`, new Map(positions))
  }
  try {
    await work(fake, groups)
  } finally {
    await fake.close()
  }
}

async function reset(fake: FakeCluster, betweenPlanAndRun: () => void = () => undefined) {
  const port = kafkaOffsets(await fake.open())
  const selection = { groups: ['g*'], topics: [], partitions: [] }
  const plan = await planOffsets({ strategy: 'latest', selection }, port, never)
  betweenPlanAndRun()
  const report = await runPlan(plan, { port, book: memoryBook().book }, never)
  const count = (outcome: string) => report.groups.filter(one => one.outcome === outcome).length
  return { report, counts: { done: count('done'), unchanged: count('unchanged'), failed: count('failed') } }
}

const isAtEnd = ({ positions }: CommittingGroups, group: string) =>
  [...(positions.get(group)?.values() ?? [])].every(offset => offset === 100n)

test('coordinators that move between the plan and the commits are found again', () =>
  withGroups(async (fake, groups) => {
    const { counts } = await reset(fake, () => {
      groups.coordinatorOf = group => (Number(group.slice(1)) + 1) % 2
    })
    assert.deepEqual(counts, { done: 200, unchanged: 0, failed: 0 })
    for (const group of groups.positions.keys()) assert.ok(isAtEnd(groups, group), group)
  }))

test('a coordinator that is loading is waited for', () =>
  withGroups(async (fake, groups) => {
    const tries = new Map<string, number>()
    groups.commitError = group => {
      tries.set(group, (tries.get(group) ?? 0) + 1)
      return tries.get(group) === 1 ? COORDINATOR_LOAD_IN_PROGRESS : 0
    }
    assert.deepEqual((await reset(fake)).counts, { done: 200, unchanged: 0, failed: 0 })
    assert.equal(tries.get('g7'), 2)
  }))

test('one group of 200 that is refused and one whose consumers came back fail alone, and the next run does the rest', () =>
  withGroups(async (fake, groups) => {
    const codes: Record<string, number> = { g5: GROUP_AUTHORIZATION_FAILED, g8: UNKNOWN_MEMBER_ID }
    groups.commitError = group => codes[group] ?? 0
    const { report, counts } = await reset(fake)
    assert.deepEqual(counts, { done: 198, unchanged: 0, failed: 2 })
    assert.deepEqual(
      report.groups.flatMap(({ planned, error }) => (error ? [[planned.now.group, error.code]] : [])),
      [
        ['g5', 'KAFKA_DENIED'],
        ['g8', 'GROUP_ACTIVE'],
      ],
    )
    assert.deepEqual([isAtEnd(groups, 'g5'), isAtEnd(groups, 'g8'), isAtEnd(groups, 'g9')], [false, false, true])
    groups.commitError = () => 0
    assert.deepEqual((await reset(fake)).counts, { done: 2, unchanged: 198, failed: 0 })
  }))
