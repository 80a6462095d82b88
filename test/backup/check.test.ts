import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkBackup } from '../../src/backup/check.ts'
import { dryRunBackup } from '../../src/backup/dry-run.ts'
import type { CheckReport } from '../../src/observe/finding.ts'
import { encodeRun } from '../fakes/batches.ts'
import type { Versions } from '../fakes/fake-broker.ts'
import { type FakeState, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'
import { kafka21, kafka28 } from '../fakes/kafka-releases.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { plainOptions } from './plain-options.ts'

const never = new AbortController().signal

async function check(versions: Versions, change: (state: FakeState) => void = () => undefined): Promise<CheckReport> {
  const fake = await startFakeCluster([fakeTopic('orders', [[encodeRun(0n, 3)]])])
  fake.state.versions = () => versions
  change(fake.state)
  try {
    const parts = {
      cluster: await fake.open(),
      storage: openMemoryStorage(),
      clock: new JumpingClock(),
      otherChecks: [],
    }
    return await checkBackup(options, parts, never)
  } finally {
    await fake.close()
  }
}

const options = plainOptions({
  topics: { include: ['orders'], exclude: [] },
  compression: 'auto',
  connectionsPerBroker: 1,
})

const topicRows = ({ checks }: CheckReport) =>
  checks.filter(({ subject }) => subject === 'topic orders').map(({ action, allowed }) => [action, allowed])

describe('a check of brokers that do not report permissions', () => {
  test('passes, states what it could not check, and names what the old versions cost', async () => {
    const report = await check(kafka21)
    assert.deepEqual(topicRows(report), [['Describe', true]])
    const [topic] = report.checks.filter(({ subject }) => subject === 'topic orders')
    assert.match(topic?.detail ?? '', /Read and DescribeConfigs cannot be checked: .*do not report permissions/)
    const [broker] = report.checks
    assert.match(
      broker?.detail ?? '',
      /answers; Metadata v7: .*topics have no IDs; Fetch v10: .*topics are read by name/,
    )
    assert.equal(report.ok, true)
  })

  test('names every missing permission of a topic that is hidden', async () => {
    const report = await check(kafka21, ({ topics: [topic] }) => {
      if (topic) topic.errorCode = 29
    })
    assert.deepEqual(topicRows(report), [
      ['Describe', false],
      ['Read', false],
      ['DescribeConfigs', false],
    ])
    assert.equal(report.ok, false)
  })
})

test('a check of brokers that report permissions names the missing ones', async () => {
  const report = await check(kafka28, state => {
    state.grants = { topic: ['Describe', 'DescribeConfigs'], group: [] }
  })
  assert.deepEqual(topicRows(report), [
    ['Describe', true],
    ['Read', false],
    ['DescribeConfigs', true],
  ])
})

describe('partitions without a leader', () => {
  const withoutLeader = ({ topics: [topic] }: FakeState) => {
    const [partition] = topic?.partitions ?? []
    topic?.partitions.push(...[1, 2].map(() => ({ ...(partition ?? assert.fail()), leader: -1 })))
  }

  test('fail a check, which names them', async () => {
    const { ok, checks } = await check(kafka28, withoutLeader)
    assert.equal(ok, false)
    assert.deepEqual(
      checks.filter(({ allowed }) => !allowed),
      [
        {
          ...{ subject: 'topic orders', action: 'lead', allowed: false },
          detail: 'no leader: partitions 1, 2; start the brokers that have replicas',
        },
      ],
    )
  })

  test('are named by a dry run', async () => {
    const fake = await startFakeCluster([fakeTopic('orders', [[encodeRun(0n, 3)]])])
    try {
      withoutLeader(fake.state)
      const parts = { cluster: await fake.open(), storage: openMemoryStorage(), clock: new JumpingClock() }
      const { leaderless, totals, warnings } = await dryRunBackup(options, parts, never)
      assert.deepEqual([leaderless, totals.partitions], [['orders/1', 'orders/2'], 1])
      assert.deepEqual(warnings, ['partitions without a leader are not copied: orders/1, orders/2'])
    } finally {
      await fake.close()
    }
  })
})
