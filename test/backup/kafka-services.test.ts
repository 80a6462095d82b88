import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import type { Manifest } from '../../src/archive/manifest.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { runBackup } from '../../src/backup/run-backup.ts'
import type { Cluster } from '../../src/kafka/cluster.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { encodeBatch, encodeMarker, encodeRun } from '../fakes/batches.ts'
import { API, type Versions } from '../fakes/fake-broker.ts'
import { type FakeCluster, type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { eventHubs, redpanda, warpStream } from '../fakes/kafka-services.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { plainOptions } from './plain-options.ts'

const never = new AbortController().signal

const options = plainOptions({ commitIntervalMs: 3_600_000, connectionsPerBroker: 1 })

interface Stage {
  fake: FakeCluster
  cluster: Cluster
  events: ProgressEvent[]
  backUp(): Promise<Manifest>
  /** Reads everything that is stored, and counts the records that a consumer would see. */
  assertHolds(visible: number, gaps?: readonly string[]): Promise<void>
}

interface Service {
  topics: FakeTopic[]
  versions?: Versions
  brokers?: number
}

/** One connection to the cluster for all backups of a test. */
async function withService(
  { topics, versions, brokers = 1 }: Service,
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  const fake = await startFakeCluster(topics, brokers)
  if (versions) fake.state.versions = () => versions
  const storage = openMemoryStorage()
  const events: ProgressEvent[] = []
  let runs = 0
  try {
    const cluster = await fake.open()
    const onProgress = (event: ProgressEvent) => events.push(event)
    const newRun = () => `run${++runs}`
    const parts = { cluster, storage, clock: fake.clock, newRun, toolVersion: '0', onProgress }
    const backUp = async () => (await runBackup(options, parts, never)).manifest
    const assertHolds = async (visible: number, gaps: readonly string[] = []) => {
      const report = await verifyBackup(storage, 'b1', { deep: true, onProgress: () => undefined }, never)
      assert.deepEqual(report.problems, [])
      const partitions = (await openBackup(storage, 'b1', never)).topics.flatMap(topic => topic.partitions)
      const held = partitions.reduce((sum, { records, aborted_records: aborted = 0 }) => sum + records - aborted, 0)
      assert.equal(held, visible)
      assert.deepEqual(gapsOf(events), gaps)
    }
    await work({ fake, cluster, events, backUp, assertHolds })
  } finally {
    await fake.close()
  }
}

const gapsOf = (events: readonly ProgressEvent[]) =>
  events.flatMap(event =>
    event.type === 'gap' ? [`${event.topic}/${event.partition} from ${event.from}: ${event.reason}`] : [],
  )
const warningsOf = (events: readonly ProgressEvent[]) =>
  events.flatMap(event => (event.type === 'warning' ? [event.message] : []))

/** Runs of ten records each. */
const runs = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => encodeRun(BigInt((from + i) * 10), 10))

const configs = { 'cleanup.policy': 'delete', 'retention.ms': '-1' }

describe('Azure Event Hubs', () => {
  test('is backed up without its settings, and the backup says so', () =>
    withService(
      { topics: [fakeTopic('orders', [runs(0, 3), runs(0, 2)])], versions: eventHubs },
      async ({ fake, events, backUp, assertHolds }) => {
        const [topic] = (await backUp()).topics
        await assertHolds(50)
        assert.deepEqual([topic?.configs, topic?.effective_configs], [{}, undefined])
        assert.match(warningsOf(events).join(), /does not report the settings of topics.*compacted/)
        fake.state.topics = [fakeTopic('orders', [runs(0, 4), runs(0, 2)])]
        await backUp()
        await assertHolds(60)
      },
    ))

  test('does not take a topic of a schema registry by a pattern, whose cleanup policy is unknown', () =>
    withService(
      {
        topics: [
          fakeTopic('orders', [runs(0, 1)]),
          fakeTopic('_schemas', [
            [
              encodeBatch({
                records: [{ key: Buffer.from('{"keytype":"SCHEMA","subject":"orders-value","version":1}') }],
              }),
            ],
          ]),
        ],
        versions: eventHubs,
      },
      async ({ events, backUp }) => {
        const { topics } = await backUp()
        assert.deepEqual(
          topics.map(({ name }) => name),
          ['orders'],
        )
        assert.match(warningsOf(events).join(), /topic _schemas is left out/)
      },
    ))

  test('is backed up over connections that it has closed since', () =>
    withService(
      { topics: [fakeTopic('orders', [runs(0, 3)])], versions: eventHubs },
      async ({ fake, backUp, assertHolds }) => {
        await backUp()
        for (const broker of fake.brokers) broker.dropConnections()
        fake.state.topics = [fakeTopic('orders', [runs(0, 5)])]
        await backUp()
        await assertHolds(50)
      },
    ))
})

describe('Redpanda', () => {
  const transactional = { transactional: true, producerId: 7n }

  test('is read by name, and lists its aborted transactions as Kafka does', () => {
    const log = [
      encodeRun(0n, 10),
      encodeRun(10n, 5, transactional),
      encodeMarker(15n, 7n, 'abort'),
      encodeRun(16n, 4, transactional),
      encodeMarker(20n, 7n, 'commit'),
    ]
    const partitions = [fakePartition(log, { aborted: [{ producerId: 7n, firstOffset: 10n }] })]
    return withService(
      { topics: [fakeTopic('orders', [log], { configs, partitions })], versions: redpanda },
      async ({ fake, backUp, assertHolds }) => {
        const [topic] = (await backUp()).topics
        assert.equal(topic?.read_by, 'name')
        await assertHolds(14)
        const used = fake.brokers[0]?.requests.filter(({ key }) => key === API.fetch).map(({ version }) => version)
        assert.deepEqual(new Set(used), new Set([11]))
      },
    )
  })

  test('may leave aborted transactions and their markers out', () => {
    const log = [...runs(0, 2), ...runs(3, 2)]
    return withService(
      { topics: [fakeTopic('orders', [log], { configs })], versions: redpanda },
      async ({ fake, backUp, assertHolds }) => {
        await backUp()
        await assertHolds(40)
        fake.state.topics = [fakeTopic('orders', [[...log, ...runs(7, 1)]], { configs })]
        await backUp()
        await assertHolds(50)
      },
    )
  })

  test('may end its log with offsets that no reader sees, which is a gap until records follow', () => {
    const ending = (batches: Buffer[], end: bigint) =>
      fakeTopic('orders', [batches], {
        configs,
        partitions: [fakePartition(batches, { highWatermark: end, lastStable: end })],
      })
    return withService(
      { topics: [ending(runs(0, 2), 26n)], versions: redpanda },
      async ({ fake, events, backUp, assertHolds }) => {
        await backUp()
        await assertHolds(20, ['orders/0 from 20: unreadable'])
        events.length = 0
        fake.state.topics = [ending([...runs(0, 2), ...runs(3, 1)], 40n)]
        await backUp()
        await assertHolds(30)
      },
    )
  })
})

describe('Confluent Cloud', () => {
  /** More than one answer holds. */
  const large = Array.from({ length: 12 }, (_, i) => encodeRun(BigInt(i * 10), 10, { valueBytes: 60_000 }))

  test('is backed up where it throttles, hides sizes and closes connections', () =>
    withService(
      { topics: [fakeTopic('orders', [large, runs(0, 2)], { configs })] },
      async ({ fake, backUp, assertHolds }) => {
        fake.state.hidesSizes = true
        fake.state.fetchThrottleMs = 30_000
        fake.state.intercept = ({ key, nth }) => {
          if (key === API.fetch && nth === 1) fake.brokers[0]?.dropConnections()
          return undefined
        }
        await backUp()
        await assertHolds(140)
        const waits = fake.clock.slept.filter(ms => ms > 20_000)
        assert.ok(waits.length > 0, `it waits as long as the broker asks for: ${fake.clock.slept.join()}`)
      },
    ))
})

describe('WarpStream', () => {
  test('is backed up while every Metadata answer names other leaders', () =>
    withService(
      {
        topics: [fakeTopic('orders', [runs(0, 4), runs(0, 3), runs(0, 2)], { configs })],
        versions: warpStream,
        brokers: 3,
      },
      async ({ fake, backUp, assertHolds }) => {
        let asked = 0
        fake.state.servesAnywhere = true
        fake.state.intercept = ({ key }) => {
          if (key !== API.metadata) return undefined
          asked++
          const all = fake.state.topics.flatMap(topic => topic.partitions)
          for (const [i, partition] of all.entries()) partition.leader = (i + asked) % 3
          return undefined
        }
        await backUp()
        await assertHolds(90)
        fake.state.topics = [fakeTopic('orders', [runs(0, 5), runs(0, 3), runs(0, 9)], { configs })]
        await backUp()
        await assertHolds(170)
        assert.ok(asked > 2, 'the leaders have changed')
      },
    ))
})
