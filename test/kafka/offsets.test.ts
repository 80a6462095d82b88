import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fetchBounds } from '../../src/kafka/offsets.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { API } from '../fakes/fake-broker.ts'
import { type FakeCluster, type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'

const never = new AbortController().signal

async function withFake(topics: FakeTopic[], brokers: number, work: (fake: FakeCluster) => Promise<void>) {
  const fake = await startFakeCluster(topics, brokers)
  try {
    await work(fake)
  } finally {
    await fake.close()
  }
}

const bounds = (logStart: bigint, lastStable: bigint, highWatermark: bigint) => ({
  logStart,
  lastStable,
  highWatermark,
})
const partitionsOf = (topic: string, count: number) =>
  Array.from({ length: count }, (_, partition) => ({ topic, partition }))

describe('the bounds of partitions', () => {
  test('come from the leader of each', () => {
    const partitions = [
      fakePartition([], { ...bounds(5n, 8n, 9n), leader: 1 }),
      fakePartition([], { ...bounds(0n, 2n ** 40n, 2n ** 40n), leader: 0 }),
    ]
    return withFake([fakeTopic('a', [], { partitions })], 2, async fake => {
      const found = await fetchBounds(await fake.open(), partitionsOf('a', 2), never)
      assert.deepEqual(
        found,
        new Map([
          ['a/0', bounds(5n, 8n, 9n)],
          ['a/1', bounds(0n, 2n ** 40n, 2n ** 40n)],
        ]),
      )
    })
  })

  test('never end before they begin, though retention moves the start while they are asked for', () =>
    withFake([fakeTopic('a', [], { partitions: [fakePartition([], bounds(50n, 8n, 9n))] })], 1, async fake => {
      const found = await fetchBounds(await fake.open(), partitionsOf('a', 1), never)
      assert.deepEqual(found.get('a/0'), bounds(50n, 50n, 50n))
    }))

  test('show no open transaction where a plain producer writes while they are asked for', () =>
    withFake([fakeTopic('a', [], { partitions: [fakePartition([], bounds(0n, 8n, 8n))] })], 1, async fake => {
      const cluster = await fake.open()
      fake.state.intercept = ({ key }) => {
        const [partition] = fake.state.topics[0]?.partitions ?? []
        if (key === API.listOffsets && partition) partition.lastStable = ++partition.highWatermark
        return undefined
      }
      const found = (await fetchBounds(cluster, partitionsOf('a', 1), never)).get('a/0')
      assert.ok(found && found.highWatermark > 8n)
      assert.equal(found.lastStable, found.highWatermark)
    }))

  test('show an open transaction as such, also while others write behind it', () =>
    withFake([fakeTopic('a', [], { partitions: [fakePartition([], bounds(0n, 5n, 8n))] })], 1, async fake => {
      const cluster = await fake.open()
      fake.state.intercept = ({ key }) => {
        const [partition] = fake.state.topics[0]?.partitions ?? []
        if (key === API.listOffsets && partition) partition.highWatermark++
        return undefined
      }
      const found = (await fetchBounds(cluster, partitionsOf('a', 1), never)).get('a/0')
      assert.equal(found?.lastStable, 5n)
      assert.ok(found.highWatermark >= 8n)
    }))

  test('are asked for again where the leader moves or is elected', () =>
    withFake(
      [fakeTopic('a', [], { partitions: [fakePartition([], { ...bounds(1n, 2n, 3n), leader: -1 })] })],
      2,
      async fake => {
        const cluster = await fake.open()
        let elections = 2
        fake.state.intercept = ({ key }) => {
          const [partition] = fake.state.topics[0]?.partitions ?? []
          if (key === API.metadata && partition && elections-- === 0) partition.leader = 1
          return undefined
        }
        const found = await fetchBounds(cluster, partitionsOf('a', 1), never)
        assert.deepEqual(found.get('a/0'), bounds(1n, 2n, 3n))
        assert.ok(fake.clock.slept.length >= 2)
      },
    ))

  test('that are refused fail with what was asked for', () =>
    withFake([fakeTopic('a', [[]])], 1, async fake => {
      const cluster = await fake.open()
      fake.state.intercept = ({ key }) => (key === API.listOffsets ? offsetsAnswer('a', 29) : undefined)
      await assert.rejects(fetchBounds(cluster, partitionsOf('a', 1), never), {
        code: 'KAFKA_DENIED',
        message: /offsets of a\/0/,
      })
    }))

  test('that a broker leaves out are missing, and not taken for zero', () =>
    withFake([fakeTopic('a', [[]])], 1, async fake => {
      const cluster = await fake.open()
      fake.state.intercept = ({ key }) =>
        key === API.listOffsets ? new Writer().int32(0).uvarint(1).noTags() : undefined
      assert.equal((await fetchBounds(cluster, partitionsOf('a', 1), never)).get('a/0'), undefined)
    }))
})

function offsetsAnswer(topic: string, errorCode: number): Writer {
  const writer = new Writer().int32(0).uvarint(2).string(topic).uvarint(2)
  return writer.int32(0).int16(errorCode).int64(-1n).int64(-1n).int32(-1).noTags().noTags().noTags()
}
