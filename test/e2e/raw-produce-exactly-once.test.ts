import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Cluster } from '../../src/kafka/cluster.ts'
import { judgeProduceError } from '../../src/kafka/produce-lane.ts'
import { createTopics } from '../../src/kafka/topic-admin.ts'
import { waitForTopics } from '../../src/kafka/topic-leaders.ts'
import { encodeRun, withCrc } from '../fakes/batches.ts'
import { Producer } from '../fakes/producer.ts'
import { assertSameRecords } from '../oracle/records.ts'
import type { SeedRecord } from '../servers/driver.ts'
import { fetchBatches, openCluster, stamped, stampedLog, waitForLogs } from './raw-produce.ts'
import { useOwnKafka } from './use-kafka.ts'

const never = new AbortController().signal
const timeoutMs = 10_000

describe('raw batches are produced exactly once', () => {
  const kafka = useOwnKafka()
  let cluster: Cluster
  let producer: Producer
  let broker: number

  before(async () => {
    cluster = await openCluster(kafka.server)
    producer = await Producer.open(cluster, { timeoutMs }, never)
  })
  after(() => {
    producer?.close()
    cluster?.close()
  })

  async function makeTopic(name: string, partitions = 1, configs: Record<string, string> = {}): Promise<void> {
    const [made] = await createTopics(cluster, [{ name, partitions, replication: -1, configs }], { timeoutMs }, never)
    assert.equal(made?.outcome, 'created')
    const [found] = await waitForTopics(cluster, [{ name, partitions }], never)
    broker = found?.partitions[0]?.leader ?? -1
    await waitForLogs(cluster, name, partitions)
  }

  const produce = async (topic: string, ...batches: Buffer[]) => {
    const entries = batches.map((batch, partition) => ({ topic, partition, batch }))
    return (await producer.produce(broker, entries, never)).map(({ errorCode, baseOffset }) => [errorCode, baseOffset])
  }

  test('with every codec and two partitions per request, record for record', async () => {
    const records: SeedRecord[] = Array.from({ length: 40 }, (_, i) => ({
      partition: i % 2,
      key: i % 5 === 0 ? null : Buffer.from(`key ${i}`),
      value: i % 7 === 0 ? null : Buffer.alloc(i * 20, `value ${i} `),
      headers: [
        ['h', null],
        ['h', Buffer.from([0, 255])],
      ],
      timestamp: 1_600_000_000_000 + i * 86_400_000,
    }))
    await kafka.driver.createTopic('source', { partitions: 2 })
    for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
      await kafka.driver.produce('source', records, { compression, flushEvery: 20 })
    }
    await makeTopic('copy', 2)
    const logs = (await fetchBatches(cluster, 'source', 2)).map(log => stampedLog(log, producer.identity))
    const longest = Math.max(...logs.map(log => log.length))
    assert.ok(longest >= 10, 'the test covers several batches')
    const next = [0n, 0n]
    for (let i = 0; i < longest; i++) {
      const entries = logs.flatMap((log, partition) => {
        const batch = log[i]
        // In one piece or in two, header and records.
        const pieces = batch && partition === 1 ? [batch.subarray(0, 61), batch.subarray(61)] : batch
        return pieces ? [{ topic: 'copy', partition, batch: pieces }] : []
      })
      for (const { partition, errorCode, baseOffset } of await producer.produce(broker, entries, never)) {
        assert.deepEqual([errorCode, baseOffset], [0, next[partition]])
        next[partition] = baseOffset + BigInt(logs[partition]?.[i]?.readInt32BE(57) ?? 0)
      }
    }
    const expected = await kafka.driver.consume('source', { isolation: 'read_committed' })
    assertSameRecords(expected, await kafka.driver.consume('copy', { isolation: 'read_committed' }))
    assert.equal(expected.flat().length, 200)
  })

  test('a batch that is repeated over a new connection of the same producer is acknowledged and not stored twice', async () => {
    await makeTopic('again')
    const log = stampedLog(
      Array.from({ length: 8 }, () => encodeRun(0n, 3)),
      producer.identity,
    )
    for (const [i, batch] of log.entries()) assert.deepEqual(await produce('again', batch), [[0, BigInt(i * 3)]])
    const resumed = await Producer.open(cluster, { timeoutMs, identity: producer.identity }, never)
    try {
      const send = async (i: number) => {
        const entry = { topic: 'again', partition: 0, batch: log[i] as Buffer }
        return (await resumed.produce(broker, [entry], never)).map(({ errorCode, baseOffset }) => [
          errorCode,
          baseOffset,
        ])
      }
      for (const i of [7, 3, 5]) assert.deepEqual(await send(i), [[0, BigInt(i * 3)]], 'one of the last five batches')
      const [[older = 0] = []] = (await send(2)) as [number, bigint][]
      assert.equal(judgeProduceError(older), 'sequence', 'what is older is refused')
      assert.deepEqual(await kafka.driver.endOffsets('again'), [24n])
    } finally {
      resumed.close()
    }
  })

  test('a sequence gap is refused with error 45, and does not affect the other partition of the request', async () => {
    await makeTopic('gap', 2)
    const batch = (sequence: number) => stamped(encodeRun(0n, 2), producer.identity, sequence)
    assert.deepEqual(await produce('gap', batch(0), batch(0)), [
      [0, 0n],
      [0, 0n],
    ])
    assert.deepEqual(await produce('gap', batch(4), batch(2)), [
      [45, -1n],
      [0, 2n],
    ])
    assert.equal(judgeProduceError(45), 'sequence')
    assert.deepEqual(await produce('gap', batch(2)), [[0, 2n]], 'the batch that was missing is taken')
    assert.deepEqual(await kafka.driver.endOffsets('gap'), [4n, 4n])
  })

  test('a batch that is too large is refused, and the next one is accepted in its place', async () => {
    await makeTopic('small', 1, { 'max.message.bytes': '1000' })
    const [large] = await produce('small', stamped(encodeRun(0n, 1, { valueBytes: 1000 }), producer.identity, 0))
    assert.deepEqual(large, [10, -1n])
    assert.equal(judgeProduceError(10), 'too_large')
    assert.deepEqual(await produce('small', stamped(encodeRun(0n, 1), producer.identity, 0)), [[0, 0n]])
  })

  test('a damaged batch is retryable, an invalid one is not; neither is stored', async () => {
    await makeTopic('wrong')
    const good = stamped(encodeRun(0n, 2), producer.identity, 0)
    const damaged = Buffer.from(good)
    damaged.writeUInt8(damaged.readUInt8(80) ^ 1, 80)
    const withOffset = stamped(encodeRun(0n, 2), producer.identity, 0)
    withOffset.writeBigInt64BE(7n, 0)
    const withGap = Buffer.from(good)
    withGap.writeInt32BE(5, 23)
    const verdicts: string[] = []
    for (const batch of [damaged, withOffset, withCrc(withGap)]) {
      const [answer] = await producer.produce(broker, [{ topic: 'wrong', partition: 0, batch }], never)
      verdicts.push(judgeProduceError(answer?.errorCode ?? 0))
    }
    assert.deepEqual(verdicts, ['retry', 'refused', 'refused'])
    assert.deepEqual(await kafka.driver.endOffsets('wrong'), [0n])
    assert.deepEqual(await produce('wrong', good), [[0, 0n]])
  })

  test('a missing partition fails alone', async () => {
    await makeTopic('short')
    const batch = stamped(encodeRun(0n, 2), producer.identity, 0)
    assert.deepEqual(await produce('short', batch, batch), [
      [0, 0n],
      [3, -1n],
    ])
    assert.equal(judgeProduceError(3), 'retry')
  })

  test('a restarted broker knows the producer of recent records, and not that of old ones', async () => {
    await makeTopic('today')
    await makeTopic('old')
    const write = (baseTimestamp: bigint) =>
      stampedLog([encodeRun(0n, 2, { baseTimestamp }), encodeRun(0n, 2, { baseTimestamp })], producer.identity)
    const [today, later] = write(BigInt(Date.now())) as [Buffer, Buffer]
    const [old] = write(1_600_000_000_000n) as [Buffer, Buffer]
    assert.deepEqual([await produce('today', today), await produce('old', old)], [[[0, 0n]], [[0, 0n]]])
    assert.deepEqual(await produce('old', old), [[0, 0n]], 'as long as the broker runs, it is known')
    await kafka.server.killBroker(0)
    await assert.rejects(produce('today', later), { retryable: true })
    await kafka.server.startBroker(0)
    await waitForLogs(cluster, 'today', 1)
    await waitForLogs(cluster, 'old', 1)
    assert.deepEqual(await produce('today', today), [[0, 0n]])
    assert.deepEqual(await produce('today', later), [[0, 2n]])
    // The age of a producer is the time of its last record: whoever resends these compares the end of the log before.
    assert.deepEqual(await produce('old', old), [[0, 2n]], 'stored a second time')
    assert.deepEqual(await kafka.driver.endOffsets('today'), [4n])
  })
})
