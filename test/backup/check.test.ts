import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkBackup } from '../../src/backup/check.ts'
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
