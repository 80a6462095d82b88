import { hashChain } from '../oracle/records.ts'
import type { KafkaDriver, SeedRecord } from '../servers/driver.ts'

/** What the archives of OSO kafka-backup hold: several topics with what a record can have. */
export const osoTopics = ['plain', 'compressed', 'deleted', 'transactions', 'empty']

const time = 1_700_000_000_000

function records(tag: string): SeedRecord[] {
  return [0, 1].flatMap(partition => [
    {
      partition,
      key: Buffer.from(`${tag} ${partition}`),
      value: Buffer.from(`value of ${tag} `.repeat(4)),
      timestamp: time,
    },
    { partition, key: null, value: Buffer.from('no key'), timestamp: time + 1 },
    { partition, key: Buffer.from('tombstone'), value: null, timestamp: time + 2 },
    { partition, key: null, value: null, timestamp: time + 3 },
    { partition, key: Buffer.alloc(0), value: Buffer.alloc(0), timestamp: 0 },
    { partition, key: Buffer.from([0, 255]), value: Buffer.from([0, 0, 0, 0, 7, 1, 2]), timestamp: time - 1 },
    {
      ...{ partition, key: Buffer.from('headers'), value: Buffer.from('x'), timestamp: time + 4 },
      headers: [
        ['a', Buffer.from('1')],
        ['a', Buffer.from('2')],
        ['b', null],
        ['', Buffer.alloc(0)],
        ['ünï', Buffer.from([255, 254])],
      ],
    },
  ])
}

export async function seedOso(driver: KafkaDriver): Promise<void> {
  for (const topic of osoTopics) {
    await driver.createTopic(topic, { partitions: 2, configs: { 'segment.bytes': '16777216' } })
  }
  await driver.produce('plain', records('plain'))
  for (const compression of ['gzip', 'snappy', 'lz4', 'zstd'] as const) {
    await driver.produce('compressed', records(compression), { compression })
  }
  await driver.produce('deleted', records('deleted'))
  await driver.deleteRecords('deleted', 0, 3n)
  await driver.produce('transactions', records('before'))
  await driver.transaction('transactions', records('kept'), { transactionalId: 'a', outcome: 'commit' })
  await driver.transaction('transactions', records('dropped'), { transactionalId: 'b', outcome: 'abort' })
  await driver.produce('transactions', records('after'))
  await driver.readGroup({ group: 'billing', topics: ['plain'], reset: 'earliest', take: 3 })
}

export interface ExpectedTopic {
  /** By partition: the hash of the committed records that a consumer reads. */
  hashes: string[]
  /** By partition: the offsets of these records. */
  offsets: string[][]
}

/** What the official consumer reads of the source. */
export async function describeExpected(driver: KafkaDriver): Promise<Record<string, ExpectedTopic>> {
  const all: Record<string, ExpectedTopic> = {}
  for (const topic of osoTopics) {
    const partitions = await driver.consume(topic, { isolation: 'read_committed' })
    all[topic] = {
      hashes: partitions.map(hashChain),
      offsets: partitions.map(some => some.map(({ offset }) => String(offset))),
    }
  }
  return all
}
