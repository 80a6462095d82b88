import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import { assertSameRecords } from '../oracle/records.ts'
import type { SeedRecord } from '../servers/driver.ts'
import { backUp, withFolder } from './backup-job.ts'
import { openCluster } from './raw-produce.ts'
import { type RestoreSpec, restore } from './restore-job.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
const anyTime = { 'message.timestamp.after.max.ms': '9223372036854775807' }

/** One of each oddity that a record can have, in every partition. */
const zoo: SeedRecord[] = [0, 1].flatMap(partition => [
  { partition, key: null, value: Buffer.from('no key') },
  { partition, key: Buffer.from('tombstone'), value: null },
  { partition, key: null, value: null },
  { partition, key: Buffer.alloc(0), value: Buffer.alloc(0) },
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
      ['ünï', Buffer.from([255, 254])],
    ],
  },
  { partition, key: null, value: Buffer.alloc(200_000, 'large ') },
])

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
      return { report, restored }
    })
  }

  async function configsOf(topic: string): Promise<Record<string, string>> {
    const cluster = await openCluster(kafka.server)
    const configs = await cluster.topicConfigs([topic], never)
    cluster.close()
    return configs.get(topic) ?? {}
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

  test('with times that the target would refuse by itself, which the source took in its day', async () => {
    await kafka.driver.createTopic('future', { partitions: 2, configs: anyTime })
    await kafka.driver.produce('future', zoo)
    await kafka.driver.alterTopicConfig('future', { 'message.timestamp.after.max.ms': null })
    await assertExact('future')
    assert.deepEqual(await configsOf('future-back'), { 'retention.bytes': '-1', 'retention.ms': '-1' })
  })

  test('with timestamps that the broker had set', async () => {
    const configs = { 'message.timestamp.type': 'LogAppendTime' }
    await kafka.driver.createTopic('append-time', { partitions: 2, configs })
    await kafka.driver.produce('append-time', zoo, { compression: 'lz4' })
    await kafka.driver.produce('append-time', zoo, { flushEvery: 1 })
    await assertExact('append-time', { retention: 'apply' })
    assert.deepEqual(await configsOf('append-time-back'), configs)
  })

  test('with records of 20 MiB between small ones', async () => {
    await kafka.driver.createTopic('huge', { partitions: 2, configs: { 'max.message.bytes': String(30 << 20) } })
    const config = { 'max.request.size': String(30 << 20), 'buffer.memory': String(64 << 20) }
    const big: SeedRecord[] = [0, 1].flatMap(partition => [
      { partition, key: Buffer.from('small'), value: Buffer.from('before') },
      { partition, key: Buffer.from('big'), value: Buffer.alloc(20 << 20, `big ${partition} `) },
      { partition, key: Buffer.from('small'), value: Buffer.from('a') },
    ])
    await kafka.driver.produce('huge', big, { config, flushEvery: 1 })
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
    const quick = { 'segment.ms': '100', 'min.cleanable.dirty.ratio': '0.01', 'min.compaction.lag.ms': '0' }
    const configs = { 'cleanup.policy': 'compact', ...quick }
    await kafka.driver.createTopic('compacted', { partitions: 2, configs })
    const burst = { count: 4000, partitions: 2, valueBytes: 100, keySpace: 7, batchSize: 1000 }
    for (let round = 0; round < 3; round++) await kafka.driver.seedBulk('compacted', burst)
    await waitForHoles('compacted')
    await kafka.driver.alterTopicConfig('compacted', { 'min.compaction.lag.ms': '86400000' })
    await assertExact('compacted')
    const applied = await configsOf('compacted-back')
    assert.equal(applied['cleanup.policy'], 'compact')
  })

  async function waitForHoles(topic: string): Promise<void> {
    for (let attempt = 0; attempt < 150; attempt++) {
      const [records] = await kafka.driver.consume(topic, { isolation: 'read_committed' })
      if (records && records.length < 1000) return
      const some = [0, 1].map(partition => ({ partition, key: Buffer.from('k'), value: Buffer.from('v') }))
      await kafka.driver.produce(topic, some)
      await new Promise(resolve => setTimeout(resolve, 200))
    }
    throw new Error(`${topic} was not compacted in time`)
  }

  test('of a log that begins inside a batch, far from 0, beside an empty partition', async () => {
    await kafka.driver.createTopic('cut', { partitions: 2 })
    const batch = Array.from({ length: 300 }, (_, i) => ({ partition: 0, key: null, value: Buffer.from(`value ${i}`) }))
    await kafka.driver.produce('cut', batch, { compression: 'gzip', lingerMs: 500, batchSize: 1 << 20 })
    await kafka.driver.deleteRecords('cut', 0, 242n)
    const { restored } = await assertExact('cut')
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

  test('and gives a topic its settings when it is full', async () => {
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
    assert.deepEqual(await configsOf('settings-back'), configs)
  })

  test('and leaves the settings of a topic alone that was there before', async () => {
    await kafka.driver.createTopic('mine', { partitions: 1 })
    await kafka.driver.seedBulk('mine', { count: 100, partitions: 1, valueBytes: 10 })
    const configs = { 'retention.ms': '-1', 'compression.type': 'gzip' }
    await kafka.driver.createTopic('mine-back', { partitions: 1, configs })
    await assertExact('mine')
    assert.deepEqual(await configsOf('mine-back'), configs)
  })

  test('and names what the target refuses before it writes anything', async () => {
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
