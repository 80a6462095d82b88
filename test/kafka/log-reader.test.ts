import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLog } from '../../src/kafka/log-reader.ts'
import { never } from '../archive/sample-archive.ts'
import { encodeRun } from '../fakes/batches.ts'
import { type FakeCluster, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'

const batches = [encodeRun(0n, 3), encodeRun(3n, 2), encodeRun(5n, 4)]
const topic = () => fakeTopic('copy', [batches])
const NOT_LEADER = 6

async function read(fake: FakeCluster, from: bigint, to: bigint): Promise<bigint[]> {
  const { id: topicId = '' } = fake.state.topics[0] ?? {}
  const found: bigint[] = []
  const log = readLog(await fake.open(), { topic: 'copy', topicId, partition: 0 }, { from, to }, never)
  for await (const some of log) found.push(...some.map(({ header }) => header.baseOffset))
  return found
}

async function withTarget(work: (fake: FakeCluster) => Promise<void>): Promise<void> {
  const fake = await startFakeCluster([topic()], 2)
  try {
    await work(fake)
  } finally {
    await fake.close()
  }
}

test('the batches that overlap the range are read', () =>
  withTarget(async fake => {
    assert.deepEqual(await read(fake, 0n, 9n), [0n, 3n, 5n])
    assert.deepEqual(await read(fake, 4n, 5n), [3n])
    assert.deepEqual(await read(fake, 9n, 9n), [])
  }))

test('a leader that moves is looked for again', () =>
  withTarget(async fake => {
    let moves = 0
    fake.state.fetchError = (one, _partition, brokerId) => {
      const log = one.partitions[0]
      if (moves++ > 0 || !log) return 0
      log.leader = 1 - brokerId
      return NOT_LEADER
    }
    assert.deepEqual(await read(fake, 0n, 9n), [0n, 3n, 5n])
    assert.ok(moves > 1)
  }))

test('a batch with a wrong checksum is refused', () =>
  withTarget(async fake => {
    const broken = Buffer.from(batches[1] ?? assert.fail())
    broken[broken.length - 1] = 0x7f
    fake.state.topics[0]?.partitions[0]?.batches.splice(1, 1, broken)
    await assert.rejects(read(fake, 0n, 9n), { code: 'SOURCE_CORRUPT', message: /copy\/0: the batch at offset 3/ })
  }))

test('what a broker denies is told at once', () =>
  withTarget(async fake => {
    fake.state.fetchError = () => 29
    await assert.rejects(read(fake, 0n, 9n), { code: 'KAFKA_DENIED', message: /reading copy\/0/ })
  }))
