import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBackup } from '../../src/archive/catalog.ts'
import { verifyBackup } from '../../src/archive/verify.ts'
import { openLocation } from '../open-location.ts'
import { readArchivedTopic, segmentsOf } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import type { SeedRecord } from '../servers/driver.ts'
import { backUp, withFolder } from './backup-job.ts'
import { anyTime, codecs, seedCompacted, seedForeign, seedHuge, seedZoo, zoo } from './record-zoo.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal

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
      await seedZoo(kafka.driver, topic, codec)
      await assertExact(topic)
    })
  }

  test('with producers of different compression in one topic', async () => {
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
    await seedHuge(kafka.driver, 'huge')
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
    await seedCompacted(kafka.driver, 'compacted')
    await assertExact('compacted')
  })

  test('with raw snappy and records without a time, as other clients write them', async () => {
    await seedForeign(kafka.server, 'foreign')
    await assertExact('foreign')
  })

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
