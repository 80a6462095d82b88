import { createTopics } from '../../src/kafka/topic-admin.ts'
import { waitForTopics } from '../../src/kafka/topic-leaders.ts'
import { encodeBatch, type RecordSpec } from '../fakes/batches.ts'
import { Producer } from '../fakes/producer.ts'
import type { KafkaDriver, SeedRecord } from '../servers/driver.ts'
import { openCluster, stampedLog, waitForLogs } from './raw-produce.ts'

const never = new AbortController().signal

export const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const

/** Kafka 4 refuses timestamps far ahead unless the topic allows them. */
export const anyTime = { 'message.timestamp.after.max.ms': '9223372036854775807' }

const manyHeaders: [string, Buffer | null][] = Array.from({ length: 10_000 }, (_, i) => [
  `header ${i % 100}`,
  i % 7 === 0 ? null : Buffer.from(`${i}`),
])

/** One of each oddity that a record can have, in partitions 0 and 1. */
export const zoo: SeedRecord[] = [0, 1].flatMap(partition => [
  { partition, key: null, value: Buffer.from('no key') },
  { partition, key: Buffer.from('tombstone'), value: null },
  { partition, key: null, value: null },
  { partition, key: Buffer.alloc(0), value: Buffer.alloc(0) },
  { partition, key: Buffer.from('k'), value: Buffer.from([0]) },
  { partition, key: Buffer.from([0, 255, 10, 13]), value: Buffer.from([0, 0, 0, 0, 7, 1, 2]) },
  { partition, key: Buffer.from('t'), value: Buffer.from('1970'), timestamp: 0 },
  { partition, key: Buffer.from('t'), value: Buffer.from('year 2099'), timestamp: 4_070_908_800_000 },
  { partition, key: Buffer.from('t'), value: Buffer.from('out of order'), timestamp: 1_600_000_000_000 },
  {
    partition,
    key: Buffer.from('headers'),
    value: Buffer.from('x'),
    headers: [
      ['a', Buffer.from('1')],
      ['a', Buffer.from('2')],
      ['b', null],
      ['', Buffer.alloc(0)],
      ['a', null],
      ['ünï', Buffer.from([255, 254])],
    ],
  },
  { partition, key: Buffer.from('many headers'), value: Buffer.from('x'), headers: manyHeaders },
  { partition, key: null, value: Buffer.alloc(200_000, 'large ') },
])

/** In whole batches, and one record a batch as a producer without linger makes them. */
export async function seedZoo(driver: KafkaDriver, topic: string, compression: (typeof codecs)[number]): Promise<void> {
  await driver.produce(topic, zoo, { compression })
  await driver.produce(topic, zoo, { compression, lingerMs: 0, flushEvery: 1 })
}

/** Records of 20 MiB between those of a byte. */
export async function seedHuge(driver: KafkaDriver, topic: string): Promise<void> {
  await driver.createTopic(topic, { partitions: 2, configs: { 'max.message.bytes': String(30 << 20) } })
  const config = { 'max.request.size': String(30 << 20), 'buffer.memory': String(64 << 20) }
  const big: SeedRecord[] = [0, 1].flatMap(partition => [
    { partition, key: Buffer.from('small'), value: Buffer.from('b') },
    { partition, key: Buffer.from('big'), value: Buffer.alloc(20 << 20, `big ${partition} `) },
    { partition, key: Buffer.from('small'), value: Buffer.from('a') },
  ])
  await driver.produce(topic, [...big, ...big], { config, flushEvery: 1 })
}

/** A topic of two partitions that compaction has left holes in, and is not at work on any more. */
export async function seedCompacted(driver: KafkaDriver, topic: string): Promise<void> {
  const quick = { 'segment.ms': '100', 'min.cleanable.dirty.ratio': '0.01', 'min.compaction.lag.ms': '0' }
  const configs = { 'cleanup.policy': 'compact', 'delete.retention.ms': '100', ...quick }
  await driver.createTopic(topic, { partitions: 2, configs })
  const burst = { count: 4000, partitions: 2, valueBytes: 100, keySpace: 7, batchSize: 1000 }
  for (let round = 0; round < 4; round++) await driver.seedBulk(topic, burst)
  await waitForHoles(driver, topic)
  // A consumer is slower than a backup; between the two the cleaner may run, so its work must be over.
  await driver.alterTopicConfig(topic, { 'min.compaction.lag.ms': '86400000' })
}

async function waitForHoles(driver: KafkaDriver, topic: string): Promise<void> {
  for (let attempt = 0; attempt < 150; attempt++) {
    const [records] = await driver.consume(topic, { isolation: 'read_committed' })
    if (records && records.length < 1000) return
    await driver.produce(
      topic,
      [0, 1].map(partition => ({ partition, key: Buffer.from('k'), value: Buffer.from('v') })),
    )
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  throw new Error(`${topic} was not compacted in time`)
}

/** A log whose first record is inside a batch, far from offset 0, beside an empty partition. */
export async function seedCut(driver: KafkaDriver, topic: string): Promise<void> {
  await driver.createTopic(topic, { partitions: 2 })
  await driver.seedBulk(topic, { count: 20_000, partitions: 1, valueBytes: 10, startTimestamp: Date.now() })
  const batch = Array.from({ length: 300 }, (_, i) => ({ partition: 0, key: null, value: Buffer.from(`value ${i}`) }))
  await driver.produce(topic, batch, { compression: 'gzip', lingerMs: 500, batchSize: 1 << 20 })
  await driver.deleteRecords(topic, 0, 20_242n)
}

/** Batches that no Java client writes: records without a time, and raw snappy as other clients write it. */
export async function seedForeign(server: { bootstrapServers: string[] }, topic: string): Promise<void> {
  const value = (text: string) => Buffer.from(text)
  const times: RecordSpec[] = [-1n, 0n, 4_070_908_800_000n, 1_600_000_000_000n, -1n].map((timestampDelta, i) => ({
    value: value(`${i}`),
    timestampDelta,
  }))
  const timeless = [{ value: value('x') }, { value: null }]
  const large = Array.from({ length: 400 }, (_, i) => ({ key: value(`${i}`), value: Buffer.alloc(2000, `${i * i} `) }))
  const batches = [
    encodeBatch({ baseTimestamp: 0n, records: times }),
    encodeBatch({ baseTimestamp: -1n, records: timeless }),
    encodeBatch({ codec: 'snappy', records: [{ value: value('small') }, { key: value('k'), value: null }] }),
    encodeBatch({ codec: 'snappy', baseTimestamp: 0n, records: times }),
    encodeBatch({ codec: 'snappy', records: large }),
  ]
  const cluster = await openCluster(server)
  try {
    const timeoutMs = 10_000
    const made = { name: topic, partitions: 1, replication: -1, configs: anyTime }
    await createTopics(cluster, [made], { timeoutMs }, never)
    const [found] = await waitForTopics(cluster, [{ name: topic, partitions: 1 }], never)
    await waitForLogs(cluster, topic, 1)
    const producer = await Producer.open(cluster, { timeoutMs }, never)
    for (const batch of stampedLog(batches, producer.identity)) {
      const entry = { topic, partition: 0, batch }
      const [answer] = await producer.produce(found?.partitions[0]?.leader ?? -1, [entry], never)
      if (answer?.errorCode !== 0) throw new Error(`the broker answered ${answer?.errorCode} to a raw batch`)
    }
    producer.close()
  } finally {
    cluster.close()
  }
}
