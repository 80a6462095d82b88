import type { KafkaDriver, SeedRecord } from '../servers/driver.ts'

const YEAR_2020 = 1_590_000_000_000
const forEver = { 'retention.ms': '-1' }
const partitions = 2

/** Topics of every kind that a restore treats in a way of its own. Brokers forget the producers of the old ones. */
export async function seedRestoreTopics(driver: KafkaDriver): Promise<string[]> {
  const seeds: [string, Record<string, string>, (topic: string) => Promise<unknown>][] = [
    ['restore-codecs', forEver, topic => seedCodecs(driver, topic)],
    ['restore-transactions', forEver, topic => seedTransactions(driver, topic)],
    ['restore-compacted', { ...forEver, ...eager }, topic => seedCompacted(driver, topic)],
    ['restore-single', forEver, topic => driver.produce(topic, zoo(300, YEAR_2020), { flushEvery: 1, lingerMs: 0 })],
    ['restore-old', forEver, topic => seedBulk(driver, topic, YEAR_2020)],
    ['restore-present', forEver, topic => seedBulk(driver, topic, Date.now())],
    ['restore-append-time', { ...forEver, 'message.timestamp.type': 'LogAppendTime' }, topic => seedZoo(driver, topic)],
  ]
  for (const [topic, configs, seed] of seeds) {
    await driver.createTopic(topic, { partitions, configs })
    await seed(topic)
  }
  return seeds.map(([topic]) => topic)
}

const eager = {
  'cleanup.policy': 'compact',
  'segment.ms': '100',
  'min.cleanable.dirty.ratio': '0.01',
  'min.compaction.lag.ms': '0',
}

async function seedCodecs(driver: KafkaDriver, topic: string): Promise<void> {
  for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
    await driver.produce(topic, zoo(60, YEAR_2020), { compression, flushEvery: 20 })
  }
}

function seedZoo(driver: KafkaDriver, topic: string): Promise<unknown> {
  return driver.produce(topic, zoo(200, YEAR_2020), { compression: 'lz4', flushEvery: 10 })
}

async function seedTransactions(driver: KafkaDriver, topic: string): Promise<void> {
  for (let i = 0; i < 12; i++) {
    const outcome = i % 3 === 0 ? 'abort' : 'commit'
    const options = { transactionalId: `${topic}-${i % 2}`, outcome, flushEvery: 8 } as const
    await driver.transaction(topic, zoo(24, YEAR_2020), options)
  }
}

function seedBulk(driver: KafkaDriver, topic: string, startTimestamp: number): Promise<unknown> {
  return driver.seedBulk(topic, { count: 4000, partitions, valueBytes: 200, batchSize: 4000, startTimestamp })
}

const nudge = [0, 1].map(partition => ({ partition, key: Buffer.from('k'), value: Buffer.from('v') }))

/** Until the cleaner has made holes; then it is left as it is, there and on the target. */
async function seedCompacted(driver: KafkaDriver, topic: string): Promise<void> {
  const burst = { count: 2000, partitions, valueBytes: 100, keySpace: 7, batchSize: 1000, startTimestamp: YEAR_2020 }
  for (let attempt = 0; attempt < 150; attempt++) {
    if (attempt < 2) await driver.seedBulk(topic, burst)
    else await driver.produce(topic, nudge)
    const digests = await driver.digest(topic, { isolation: 'read_committed' })
    if (digests.every(({ count, last }) => last > 1000n && BigInt(count) < last / 2n)) {
      return driver.alterTopicConfig(topic, { 'segment.ms': null, 'min.cleanable.dirty.ratio': null })
    }
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error(`${topic} was not compacted in time`)
}

/** Records without keys, without values, with headers that repeat and that are null. */
function zoo(count: number, startTimestamp: number): SeedRecord[] {
  return Array.from({ length: count }, (_, i) => ({
    partition: i % partitions,
    key: i % 5 === 0 ? null : Buffer.from(`key ${i}`),
    value: i % 7 === 0 ? null : Buffer.from(`value ${i} `.repeat(i % 20)),
    headers:
      i % 3 === 0
        ? []
        : [
            ['h', null],
            ['h', Buffer.from([0, i % 256])],
          ],
    timestamp: startTimestamp + i,
  }))
}
