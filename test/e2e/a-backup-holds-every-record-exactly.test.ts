import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { openLocation } from '../../src/wiring.ts'
import { readArchivedTopic, segmentsOf } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import type { SeedRecord } from '../servers/driver.ts'
import { backUp, withFolder } from './backup-job.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const

/** Kafka 4 refuses timestamps far ahead unless the topic allows them. */
const anyTime = { 'message.timestamp.after.max.ms': '9223372036854775807' }

/** One of each oddity that a record can have, in every partition. */
const zoo: SeedRecord[] = [0, 1].flatMap(partition => [
  { partition, key: null, value: Buffer.from('no key') },
  { partition, key: Buffer.from('tombstone'), value: null },
  { partition, key: null, value: null },
  { partition, key: Buffer.alloc(0), value: Buffer.alloc(0) },
  { partition, key: Buffer.from([0, 255, 10, 13]), value: Buffer.from([0, 0, 0, 0, 7, 1, 2]) },
  { partition, key: Buffer.from('t'), value: Buffer.from('before 1970'), timestamp: 0 },
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
  { partition, key: null, value: Buffer.alloc(200_000, 'large ') },
])

describe('a backup holds every record exactly', () => {
  const kafka = useKafka()

  /** Backs the topic up, compares the archive with a consumer of the source and verifies every byte of it. */
  async function assertExact(topic: string, options: { backup?: Record<string, unknown> } = {}) {
    await withFolder(async path => {
      const report = await backUp({ servers: kafka.server.bootstrapServers, path, include: [topic], ...options })
      const expected = await kafka.driver.consume(topic, { isolation: 'read_committed' })
      assertSameRecords(expected, await readArchivedTopic(path, 'b1', topic))
      const verified = await verifyBackup(openLocation(path), 'b1', { deep: true, onProgress: () => undefined }, never)
      assert.deepEqual(verified.problems, [])
      const { records, aborted_records } = verified.ok ? sumOf(report.manifest) : { records: 0, aborted_records: 0 }
      assert.equal(records - aborted_records, expected.flat().length)
    })
  }

  for (const codec of codecs) {
    test(`with ${codec} batches, odd records and batches of one`, async () => {
      const topic = `zoo-${codec}`
      await kafka.driver.createTopic(topic, { partitions: 3, configs: anyTime })
      await kafka.driver.produce(topic, zoo, { compression: codec })
      await kafka.driver.produce(topic, zoo, { compression: codec, flushEvery: 1 })
      await assertExact(topic)
    })
  }

  test('with producers of different compression on one topic', async () => {
    await kafka.driver.createTopic('mixed', { partitions: 2, configs: anyTime })
    for (const compression of [...codecs, ...codecs]) await kafka.driver.produce('mixed', zoo, { compression })
    for (const compression of ['auto', 'none', 'zstd']) await assertExact('mixed', { backup: { compression } })
  })

  test('with timestamps that the broker sets', async () => {
    await kafka.driver.createTopic('append-time', {
      partitions: 2,
      configs: { 'message.timestamp.type': 'LogAppendTime' },
    })
    await kafka.driver.produce('append-time', zoo, { compression: 'lz4' })
    await assertExact('append-time')
  })

  test('with records of 20 MiB between small ones', async () => {
    await kafka.driver.createTopic('huge', { partitions: 2, configs: { 'max.message.bytes': String(30 << 20) } })
    const config = { 'max.request.size': String(30 << 20), 'buffer.memory': String(64 << 20) }
    const big: SeedRecord[] = [0, 1].flatMap(partition => [
      { partition, key: Buffer.from('small'), value: Buffer.from('before') },
      { partition, key: Buffer.from('big'), value: Buffer.alloc(20 << 20, `big ${partition} `) },
      { partition, key: Buffer.from('small'), value: Buffer.from('after') },
    ])
    await kafka.driver.produce('huge', [...big, ...big], { config, flushEvery: 1 })
    await assertExact('huge')
  })

  test('with committed, aborted and interleaved transactions, up to the first open one', async () => {
    await kafka.driver.createTopic('tx', { partitions: 2 })
    const some = (tag: string): SeedRecord[] =>
      [0, 1, 0, 1].map((partition, i) => ({ partition, key: Buffer.from(tag), value: Buffer.from(`${tag} ${i}`) }))
    await kafka.driver.produce('tx', some('plain'))
    await kafka.driver.transaction('tx', some('kept'), { transactionalId: 'a', outcome: 'commit', flushEvery: 1 })
    await kafka.driver.transaction('tx', some('dropped'), { transactionalId: 'b', outcome: 'abort', flushEvery: 1 })
    await kafka.driver.transaction('tx', some('long abort'), { transactionalId: 'c', outcome: 'open' })
    await kafka.driver.transaction('tx', some('short kept'), { transactionalId: 'a', outcome: 'commit' })
    await kafka.driver.finishTransaction('c', 'abort')
    await kafka.driver.transaction('tx', some('decided late'), { transactionalId: 'd', outcome: 'open' })
    await kafka.driver.transaction('tx', some('hangs'), { transactionalId: 'e', outcome: 'open' })
    await kafka.driver.produce('tx', some('behind'))
    await kafka.driver.finishTransaction('d', 'abort')
    await assertExact('tx')
    await withFolder(async path => {
      const spec = { servers: kafka.server.bootstrapServers, path, include: ['tx'] }
      const { warnings, manifest } = await backUp(spec)
      assert.ok(warnings.some(line => /tx\/0: an open transaction keeps the newest \d+ offsets/.test(line)))
      const [first] = manifest.topics[0]?.partitions ?? []
      assert.ok(first && first.high_watermark > first.last_stable_offset)
      assert.equal(first.open_aborted.length, 1, 'the transaction decided behind the end is known to be aborted')
      await kafka.driver.finishTransaction('e', 'commit')
      await backUp(spec)
      const expected = await kafka.driver.consume('tx', { isolation: 'read_committed' })
      assertSameRecords(expected, await readArchivedTopic(path, 'b1', 'tx'))
    })
  })

  test('of a compacted topic with holes, and again while it is cleaned', async () => {
    const configs = {
      'cleanup.policy': 'compact',
      'segment.ms': '100',
      'min.cleanable.dirty.ratio': '0.01',
      'min.compaction.lag.ms': '0',
      'delete.retention.ms': '100',
    }
    await kafka.driver.createTopic('compacted', { partitions: 2, configs })
    const burst = { count: 4000, partitions: 2, valueBytes: 100, keySpace: 7, batchSize: 1000 }
    for (let round = 0; round < 4; round++) await kafka.driver.seedBulk('compacted', burst)
    await waitForHoles('compacted')
    // A consumer is slower than a backup; between the two the cleaner may run, so its work must be over.
    await kafka.driver.alterTopicConfig('compacted', { 'min.compaction.lag.ms': '86400000' })
    await assertExact('compacted')
  })

  async function waitForHoles(topic: string): Promise<void> {
    for (let attempt = 0; attempt < 150; attempt++) {
      const [records] = await kafka.driver.consume(topic, { isolation: 'read_committed' })
      if (records && records.length < 1000) return
      await kafka.driver.produce(
        topic,
        [0, 1].map(partition => ({ partition, key: Buffer.from('k'), value: Buffer.from('v') })),
      )
      await new Promise(resolve => setTimeout(resolve, 200))
    }
    throw new Error(`${topic} was not compacted in time`)
  }

  test('after DeleteRecords cut the log inside a batch', async () => {
    await kafka.driver.createTopic('cut', { partitions: 1 })
    const batch = Array.from({ length: 100 }, (_, i) => ({ partition: 0, key: null, value: Buffer.from(`value ${i}`) }))
    await kafka.driver.produce('cut', batch, { compression: 'gzip', lingerMs: 500, batchSize: 1 << 20 })
    await kafka.driver.deleteRecords('cut', 0, 42n)
    await assertExact('cut')
    await withFolder(async path => {
      const { manifest } = await backUp({ servers: kafka.server.bootstrapServers, path, include: ['cut'] })
      const [partition] = manifest.topics[0]?.partitions ?? []
      assert.ok(partition)
      assert.deepEqual([partition.start_offset, partition.records], [42n, 58])
      const [segment] = await segmentsOf(path, partition)
      assert.match(segment?.key ?? '', /\/0{20}\./, 'the segment starts with the whole batch')
    })
  })

  test('with empty partitions and an empty topic, which keep their place and settings', async () => {
    const configs = { 'retention.ms': '123456789', 'cleanup.policy': 'compact,delete' }
    await kafka.driver.createTopic('empty', { partitions: 5, configs })
    await assertExact('empty')
    await withFolder(async path => {
      await backUp({ servers: kafka.server.bootstrapServers, path, include: ['empty'] })
      const [topic] = (await openBackup(openLocation(path), 'b1', never)).topics
      assert.equal(topic?.partitions.length, 5)
      assert.deepEqual(topic?.configs, configs)
      assert.equal(topic?.id, idOf((await kafka.driver.describeTopic('empty')).topicId))
    })
  })
})

function sumOf(manifest: { topics: { partitions: { records: number; aborted_records: number }[] }[] }) {
  const partitions = manifest.topics.flatMap(topic => topic.partitions)
  return {
    records: partitions.reduce((sum, one) => sum + one.records, 0),
    aborted_records: partitions.reduce((sum, one) => sum + one.aborted_records, 0),
  }
}

/** Kafka shows topic ids in base64 for URLs, the archive in hex. */
function idOf(base64url: string): string {
  return Buffer.from(base64url, 'base64url').toString('hex')
}
