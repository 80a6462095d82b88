import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords } from '../oracle/records.ts'
import type { ConsumedRecord, SeedRecord } from '../servers/driver.ts'
import { backUp, withFolder } from './backup-job.ts'
import { anyTime, codecs, seedCompacted, seedCut, seedForeign, seedHuge, seedZoo, zoo } from './record-zoo.ts'
import { type RestoreSpec, restore } from './restore-job.ts'
import { assertConfig, assertConfigs } from './topic-settings.ts'
import { useKafka } from './use-kafka.ts'

describe('a restore is exact', () => {
  const kafka = useKafka()

  /** Backs the topic up, restores it under another name and compares the two as a consumer sees them. */
  async function assertExact(topic: string, options: RestoreSpec['options'] = {}) {
    return withFolder(async path => {
      const servers = kafka.server.bootstrapServers
      await backUp({ servers, path, include: [topic] })
      const target = `${topic}-back`
      const report = await restore({ servers, path, mapping: [[topic, target]], options })
      const expected = await kafka.driver.consume(topic, { isolation: 'read_committed' })
      const restored = await kafka.driver.consume(target, { isolation: 'read_committed' })
      assertSameRecords(expected, restored)
      assert.equal(report.topics[0]?.records, expected.flat().length)
      assertSameRecords(await readArchivedTopic(path, 'b1', topic), restored)
      return { report, restored, source: expected }
    })
  }

  for (const codec of codecs) {
    test(`with ${codec} batches, odd records and batches of one`, async () => {
      const topic = `zoo-${codec}`
      await kafka.driver.createTopic(topic, { partitions: 3, configs: anyTime })
      await seedZoo(kafka.driver, topic, codec)
      const { report } = await assertExact(topic)
      assert.deepEqual(Object.keys(report.totals.conversions), ['merged'])
    })
  }

  test('with timestamps that the target would refuse from other clients', async () => {
    await kafka.driver.createTopic('future', { partitions: 2, configs: anyTime })
    await kafka.driver.produce('future', zoo)
    await kafka.driver.alterTopicConfig('future', { 'message.timestamp.after.max.ms': null })
    await assertExact('future')
    await assertConfigs(kafka.server, 'future-back', { 'retention.bytes': '-1', 'retention.ms': '-1' })
  })

  test('with timestamps that the broker had set', async () => {
    const configs = { 'message.timestamp.type': 'LogAppendTime' }
    await kafka.driver.createTopic('append-time', { partitions: 2, configs })
    await kafka.driver.produce('append-time', zoo, { compression: 'lz4' })
    await kafka.driver.produce('append-time', zoo, { flushEvery: 1 })
    await assertExact('append-time', { retention: 'apply' })
    await assertConfigs(kafka.server, 'append-time-back', configs)
  })

  test('with records of 20 MiB between small ones', async () => {
    await seedHuge(kafka.driver, 'huge')
    await assertExact('huge')
  })

  test('with idempotent and transactional producers, a third of whose transactions were rolled back', async () => {
    await kafka.driver.createTopic('tx', { partitions: 2 })
    const some = (tag: string): SeedRecord[] =>
      [0, 1, 0, 1].map((partition, i) => ({ partition, key: Buffer.from(tag), value: Buffer.from(`${tag} ${i}`) }))
    await kafka.driver.produce('tx', some('plain'), { config: { 'enable.idempotence': 'true' } })
    for (let i = 0; i < 12; i++) {
      const outcome = i % 3 === 0 ? 'abort' : 'commit'
      await kafka.driver.transaction('tx', some(`${i}`), { transactionalId: `id${i % 2}`, outcome, flushEvery: 1 })
    }
    await kafka.driver.transaction('tx', some('long'), { transactionalId: 'c', outcome: 'open' })
    await kafka.driver.transaction('tx', some('short'), { transactionalId: 'a', outcome: 'commit' })
    await kafka.driver.finishTransaction('c', 'abort')
    const { restored } = await assertExact('tx')
    assert.equal(restored[0]?.at(-1)?.offset, BigInt((restored[0]?.length ?? 0) - 1), 'no markers, no holes')
  })

  test('of a compacted topic with holes, which is compacted again only at the end', async () => {
    await seedCompacted(kafka.driver, 'compacted')
    const { report, restored, source } = await assertExact('compacted')
    assert.ok((report.totals.conversions.holes ?? 0) > 0)
    assert.deepEqual(latestOf(restored), latestOf(source))
    assert.equal(latestOf(restored)[0]?.size, 8)
    await assertConfig(kafka.server, 'compacted-back', 'cleanup.policy', 'compact')
  })

  test('with raw snappy and records without a time, as other clients write them', async () => {
    await seedForeign(kafka.server, 'foreign')
    const { restored } = await assertExact('foreign')
    const times = restored[0]?.slice(0, 7).map(({ timestamp }) => timestamp)
    assert.deepEqual(times, [-1n, 0n, 4_070_908_800_000n, 1_600_000_000_000n, -1n, -1n, -1n])
    assert.equal(restored[0]?.length, 414)
  })

  test('of a log that starts inside a batch, far from 0, next to an empty partition', async () => {
    await seedCut(kafka.driver, 'cut')
    const { restored, report } = await assertExact('cut')
    assert.deepEqual(report.totals.conversions, { cut: 1 })
    assert.deepEqual([restored[0]?.length, restored[1]?.length], [58, 0])
  })

  test('of single partitions, offsets and times', async () => {
    await kafka.driver.createTopic('parts', { partitions: 3 })
    await kafka.driver.seedBulk('parts', {
      count: 3000,
      partitions: 3,
      valueBytes: 50,
      startTimestamp: 1_700_000_000_000,
    })
    await withFolder(async path => {
      const servers = kafka.server.bootstrapServers
      await backUp({ servers, path, include: ['parts'] })
      const options = {
        partitions: new Map([['parts', [0, 2]]]),
        offsetRanges: new Map([['parts/2', { start: 100n, end: 300n }]]),
        timeWindow: { start: 1_700_000_000_300n, end: 1_700_000_000_801n },
      }
      await restore({ servers, path, mapping: [['parts', 'parts-back']], options })
      const [first = [], , third = []] = await kafka.driver.consume('parts', { isolation: 'read_committed' })
      const wanted = ({ timestamp }: { timestamp: bigint }) =>
        timestamp >= 1_700_000_000_300n && timestamp < 1_700_000_000_801n
      const expected = [
        first.filter(wanted),
        [],
        third.filter(one => one.offset >= 100n && one.offset < 300n).filter(wanted),
      ]
      assert.ok((expected[0]?.length ?? 0) > 100 && (expected[2]?.length ?? 0) > 100)
      assertSameRecords(expected, await kafka.driver.consume('parts-back', { isolation: 'read_committed' }))
    })
  })

  test('and applies the settings of a topic after its records', async () => {
    const configs = {
      'retention.ms': '8640000000',
      'cleanup.policy': 'compact,delete',
      'compression.type': 'zstd',
      'segment.bytes': '2000000',
      'max.message.bytes': '3000000',
    }
    await kafka.driver.createTopic('settings', { partitions: 1, configs })
    await kafka.driver.seedBulk('settings', { count: 100, partitions: 1, valueBytes: 10, startTimestamp: Date.now() })
    await assertExact('settings', { retention: 'fail' })
    await assertConfigs(kafka.server, 'settings-back', configs)
  })

  test('and leaves the settings of an existing topic alone', async () => {
    await kafka.driver.createTopic('mine', { partitions: 1 })
    await kafka.driver.seedBulk('mine', { count: 100, partitions: 1, valueBytes: 10 })
    const configs = { 'retention.ms': '-1', 'compression.type': 'gzip' }
    await kafka.driver.createTopic('mine-back', { partitions: 1, configs })
    await assertExact('mine')
    await assertConfigs(kafka.server, 'mine-back', configs)
  })

  test('and reports what the target refuses before it writes anything', async () => {
    await kafka.driver.createTopic('bad', { partitions: 1 })
    await kafka.driver.createTopic('bad2', { partitions: 1 })
    await withFolder(async path => {
      const servers = kafka.server.bootstrapServers
      await backUp({ servers, path, include: ['bad', 'bad2'] })
      const topicConfig = new Map([['no.such.setting', '1']])
      const mapping: [string, string][] = [
        ['bad', 'bad-back'],
        ['bad2', 'bad?name'],
      ]
      await assert.rejects(restore({ servers, path, mapping, options: { topicConfig } }), error => {
        assert.ok(hasCode(error, 'RESTORE_REFUSED'))
        assert.match(error.message, /bad-back: .*no\.such\.setting.*bad\?name: /s)
        return true
      })
      await assert.rejects(kafka.driver.describeTopic('bad-back'))
    })
  })
})

/** By partition: what a reader of the whole topic takes for the state of each key. */
function latestOf(partitions: readonly ConsumedRecord[][]): Map<string, string | undefined>[] {
  return partitions.map(records => new Map(records.map(({ key, value }) => [String(key), value?.toString('hex')])))
}
