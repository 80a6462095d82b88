import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { verifyBackup } from '../../src/archive/verify.ts'
import { openLocation } from '../open-location.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import { openDriver, type SeedRecord } from '../servers/driver.ts'
import { startKafka } from '../servers/kafka.ts'
import { olderKafkaVersion, oldestKafkaVersion } from '../servers/kafka-dist.ts'
import { backUp, withFolder } from './backup-job.ts'

const never = new AbortController().signal

describe('a backup of an older Kafka is exact', () => {
  for (const version of [olderKafkaVersion, oldestKafkaVersion]) {
    test(`Kafka ${version}: all codecs, transactions, and a second run`, () =>
      withFolder(async path => {
        await using server = await startKafka({ version })
        await using driver = await openDriver(server)
        const records: SeedRecord[] = [0, 1, 0].map((partition, i) => ({
          partition,
          key: i === 1 ? null : Buffer.from(`key ${i}`),
          value: i === 2 ? null : Buffer.alloc(5000, `value ${i} `),
          headers: [
            ['h', null],
            ['h', Buffer.from('2')],
          ],
        }))
        await driver.createTopic('old', { partitions: 3, configs: { 'retention.ms': '987654321' } })
        const spec = { servers: server.bootstrapServers, path, include: ['*'] }
        for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
          await driver.produce('old', records, { compression, flushEvery: 2 })
        }
        await backUp(spec)
        await driver.transaction('old', records, { transactionalId: 't1', outcome: 'abort' })
        await driver.transaction('old', records, { transactionalId: 't2', outcome: 'commit' })
        const { manifest } = await backUp(spec)
        assert.deepEqual(
          manifest.topics.map(({ name, configs }) => [name, configs]),
          [['old', { 'retention.ms': '987654321' }]],
          'internal topics are left out, settings are kept',
        )
        const expected = await driver.consume('old', { isolation: 'read_committed' })
        assertSameRecords(expected, await readArchivedTopic(path, 'b1', 'old'))
        const verified = await verifyBackup(
          openLocation(path),
          'b1',
          { deep: true, onProgress: () => undefined },
          never,
        )
        assert.deepEqual(verified.problems, [])
      }))
  }
})
