import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { assertSameRecords, hashChain } from '../oracle/records.ts'
import { type Compression, type KafkaDriver, openDriver } from './driver.ts'
import { exampleRecords, expectedRecords, text } from './fixtures/example-records.ts'
import { type KafkaServer, startKafka } from './kafka.ts'
import { kafkaToolClasses, runKafkaTool } from './kafka-tools.ts'

let server: KafkaServer
let driver: KafkaDriver

before(async () => {
  server = await startKafka()
  driver = await openDriver(server)
})

after(async () => {
  await driver.close()
  await server.stop()
})

for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] satisfies Compression[]) {
  test(`what is produced with compression ${compression} is consumed as it was`, async () => {
    const topic = `plain-${compression}`
    await driver.createTopic(topic, { partitions: 2 })
    const places = await driver.produce(topic, exampleRecords, { compression, lingerMs: 20 })
    assert.deepEqual(
      places.map(place => place.offset),
      [0n, 1n, 0n, 2n],
    )
    const found = await driver.consume(topic, { isolation: 'read_committed' })
    assertSameRecords(expectedRecords(2), found)
    assert.deepEqual(
      found[0]?.map(({ offset, timestampType, leaderEpoch }) => [offset, timestampType, leaderEpoch]),
      [
        [0n, 'CreateTime', 0],
        [1n, 'CreateTime', 0],
        [2n, 'CreateTime', 0],
      ],
    )
    const digests = await driver.digest(topic, { isolation: 'read_committed' })
    assert.deepEqual(
      digests.map(({ sha256 }) => sha256),
      expectedRecords(2).map(hashChain),
    )
    const codecs = await dumpCodecs(topic)
    assert.deepEqual([...new Set(codecs)], [compression])
  })
}

test('a record of 20 MiB passes', async () => {
  await driver.createTopic('huge')
  const value = Buffer.alloc(20 * 2 ** 20, 'large ')
  await driver.produce('huge', [{ partition: 0, key: null, value, timestamp: 1 }])
  const found = await driver.consume('huge', { isolation: 'read_committed' })
  assertSameRecords([[{ key: null, value, headers: [], timestamp: 1n }]], found)
})

test('the topic decides about the time of a record with LogAppendTime', async () => {
  await driver.createTopic('append-time', { configs: { 'message.timestamp.type': 'LogAppendTime' } })
  await driver.produce('append-time', [{ partition: 0, key: null, value: null, timestamp: 1 }])
  const [[record] = []] = await driver.consume('append-time', { isolation: 'read_committed' })
  assert.equal(record?.timestampType, 'LogAppendTime')
  assert.ok(record.timestamp > 1n)
})

test('committed, aborted and open transactions are told apart', async () => {
  await driver.createTopic('transactions')
  const send = (value: string, outcome: 'commit' | 'abort' | 'open') =>
    driver.transaction('transactions', [{ partition: 0, key: null, value: Buffer.from(value) }], {
      transactionalId: `id-${value}`,
      outcome,
    })
  const values = async (isolation: 'read_committed' | 'read_uncommitted') =>
    (await driver.consume('transactions', { isolation }))[0]?.map(text)

  await send('one', 'commit')
  await send('two', 'abort')
  const [open] = await send('three', 'open')
  await driver.produce('transactions', [{ partition: 0, key: null, value: Buffer.from('four') }])
  assert.equal(open?.offset, 4n)
  assert.deepEqual(await driver.endOffsets('transactions'), [6n])
  assert.deepEqual(await driver.endOffsets('transactions', 'read_committed'), [4n])
  assert.deepEqual(await values('read_committed'), ['one'])
  assert.deepEqual(await values('read_uncommitted'), ['one', 'two', 'three', 'four'])

  await driver.finishTransaction('id-three', 'commit')
  assert.deepEqual(await values('read_committed'), ['one', 'three', 'four'])
})

test('a transaction that ends a topic does not hold up the reader', async () => {
  await driver.createTopic('ends-with-markers')
  const records = Array.from({ length: 5 }, () => ({ partition: 0, key: null, value: Buffer.from('gone') }))
  const options = { transactionalId: 'aborted', outcome: 'abort', flushEvery: 2 } as const
  await driver.transaction('ends-with-markers', records, options)
  assert.deepEqual(await driver.consume('ends-with-markers', { isolation: 'read_committed' }), [[]])
  assert.equal((await dumpCodecs('ends-with-markers')).length, 4)
})

test('flushEvery and producerKey decide about batches and producers', async () => {
  await driver.createTopic('batches')
  const records = Array.from({ length: 6 }, () => ({ partition: 0, key: null, value: Buffer.from('x') }))
  await driver.produce('batches', records, { flushEvery: 3, lingerMs: 1000, producerKey: 'shared' })
  await driver.produce('batches', records, { producerKey: 'shared', flushEvery: 6 })
  await driver.produce('batches', records, { lingerMs: 1000 })
  const batches = (await dumpLog('batches')).filter(line => line.startsWith('baseOffset:'))
  assert.deepEqual(
    batches.map(line => /count: (\d+)/.exec(line)?.[1]),
    ['3', '3', '6', '6'],
  )
  const producers = batches.map(line => /producerId: (\d+)/.exec(line)?.[1])
  assert.equal(new Set(producers.slice(0, 3)).size, 1)
  assert.notEqual(producers[3], producers[0])
})

test('bulk records follow from the seed', async () => {
  const digests: string[][] = []
  for (const [topic, seed] of [
    ['bulk-1', 7],
    ['bulk-2', 7],
    ['bulk-3', 8],
  ] as const) {
    await driver.createTopic(topic, { partitions: 2 })
    const options = { count: 1000, partitions: 2, valueBytes: 300, seed, compression: 'zstd' } as const
    assert.deepEqual((await driver.seedBulk(topic, options)).records, 1000)
    digests.push((await driver.digest(topic, { isolation: 'read_committed' })).map(digest => digest.sha256))
  }
  assert.deepEqual(digests[0], digests[1])
  assert.notDeepEqual(digests[0], digests[2])
  const [first] = await driver.consume('bulk-1', { isolation: 'read_committed' })
  assert.equal(first?.length, 500)
  assert.ok(first.every(({ value }) => value?.length === 300 && typeof JSON.parse(String(value)).id === 'number'))
})

test('compaction leaves holes that the reader passes', async () => {
  const configs = { 'cleanup.policy': 'compact', 'segment.ms': '500', 'min.cleanable.dirty.ratio': '0.001' }
  await driver.createTopic('compacted', { configs })
  await driver.seedBulk('compacted', { count: 500, partitions: 1, valueBytes: 100, keySpace: 5 })
  const deadline = performance.now() + 20_000
  let records = 500
  while (records > 100) {
    assert.ok(performance.now() < deadline, 'the log is not compacted')
    // The cleaner leaves the segment alone that is written to; a record of another time makes the log go on to the next.
    await driver.produce('compacted', [{ partition: 0, key: Buffer.from('roll'), value: Buffer.alloc(0) }])
    records = (await driver.consume('compacted', { isolation: 'read_committed' }))[0]?.length ?? 0
  }
  const [end = 0n] = await driver.endOffsets('compacted')
  assert.ok(end > 500n)
})

test('topics are changed and deleted', async () => {
  await driver.createTopic('changed', { configs: { 'retention.ms': '3600000' } })
  const sent = Array.from({ length: 3 }, () => ({ partition: 0, key: null, value: Buffer.from('x') }))
  await driver.produce('changed', sent)
  await driver.createPartitions('changed', 3)
  await driver.alterTopicConfig('changed', { 'retention.ms': null, 'max.message.bytes': '2000' })
  await driver.deleteRecords('changed', 0, 2n)
  const { topicId, partitions } = await driver.describeTopic('changed')
  assert.equal(topicId.length, 22)
  assert.deepEqual(partitions, Array(3).fill({ leader: 1, replicas: [1], inSync: [1] }))
  assert.deepEqual(await driver.startOffsets('changed'), [2n, 0n, 0n])
  assert.deepEqual(await driver.endOffsets('changed'), [3n, 0n, 0n])
  const tooLarge = driver.produce('changed', [{ partition: 0, key: null, value: Buffer.alloc(3000) }])
  await assert.rejects(tooLarge, { name: 'RecordTooLargeException' })

  await driver.deleteTopic('changed')
  await assert.rejects(driver.describeTopic('changed'), { name: 'UnknownTopicOrPartitionException' })
})

async function dumpCodecs(topic: string): Promise<string[]> {
  return (await dumpLog(topic)).flatMap(line => /^baseOffset:.*compresscodec: (\w+)/.exec(line)?.[1] ?? [])
}

async function dumpLog(topic: string): Promise<string[]> {
  const folder = join(server.dataDirs[0] ?? '', `${topic}-0`)
  const segments = (await readdir(folder)).filter(name => name.endsWith('.log')).map(name => join(folder, name))
  const dump = await runKafkaTool(server, kafkaToolClasses.dumpLogSegments, ['--files', segments.join()])
  assert.equal(dump.exitCode, 0, dump.stderr)
  return dump.stdout.split('\n')
}
