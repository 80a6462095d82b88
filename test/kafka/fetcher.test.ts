import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { walkBatches } from '../../src/batch/walk.ts'
import { Fetcher } from '../../src/kafka/fetcher.ts'
import { BufferPool } from '../../src/kafka/wire/buffer-pool.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { type FakeCluster, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'

const never = new AbortController().signal

async function withFetcher(buffers: BufferPool, work: (fetcher: Fetcher, fake: FakeCluster) => Promise<void>) {
  const big = encodeRun(0n, 1, { valueBytes: 3 << 20 })
  const fake = await startFakeCluster([
    fakeTopic('a', [[encodeRun(0n, 3), encodeRun(3n, 2)], []]),
    fakeTopic('b', [[encodeRun(7n, 1)]]),
    fakeTopic('big', [[big, encodeRun(1n, 1)]]),
  ])
  try {
    const fetcher = await Fetcher.open(
      await fake.open(),
      { brokerId: 0, buffers, maxWaitMs: 0, maxBytes: 1 << 30, rack: '' },
      never,
    )
    await work(fetcher, fake)
    fetcher.close()
  } finally {
    await fake.close()
  }
}

const target = (fake: FakeCluster, name: string, partition: number, offset: bigint) => {
  const topicId = fake.state.topics.find(topic => topic.name === name)?.id ?? ''
  return { topic: name, topicId, partition, offset, leaderEpoch: -1, lastFetchedEpoch: -1 }
}

/** Whether the pool has a buffer to give. */
async function hasFree(pool: BufferPool): Promise<boolean> {
  const acquired = pool.acquire().then(buffer => {
    pool.release(buffer)
    return true
  })
  return Promise.race([acquired, new Promise<boolean>(resolve => setImmediate(() => resolve(false)))])
}

describe('a fetch', () => {
  test('brings batches of many partitions in one answer, at the places it names', () =>
    withFetcher(new BufferPool(1, 1 << 20), async (fetcher, fake) => {
      const targets = [target(fake, 'b', 0, 7n), target(fake, 'a', 1, 0n), target(fake, 'a', 0, 3n)]
      const { bytes, partitions, release } = await fetcher.fetch(targets, never)
      const found = partitions.map(part => [
        part.topicId,
        part.partition,
        walkBatches(bytes, part.start, part.end).map(header => header.baseOffset),
      ])
      assert.deepEqual(found, [
        [targets[0]?.topicId, 0, [7n]],
        [targets[1]?.topicId, 1, []],
        [targets[2]?.topicId, 0, [3n]],
      ])
      release()
    }))

  test('brings a batch that is larger than the buffer whole, and the buffer keeps its size', () => {
    const pool = new BufferPool(1, 1 << 20)
    return withFetcher(pool, async (fetcher, fake) => {
      const fetched = await fetcher.fetch([target(fake, 'big', 0, 0n)], never)
      const [part] = fetched.partitions
      assert.ok(part && part.end - part.start > 3 << 20)
      assert.equal(walkBatches(fetched.bytes, part.start, part.end)[0]?.sizeBytes, part.end - part.start)
      fetched.release()
      assert.equal((await pool.acquire()).bytes.length, 1 << 20)
    })
  })

  test('gives its buffer back when it fails, however it fails', () => {
    const pool = new BufferPool(1, 1 << 20)
    return withFetcher(pool, async (fetcher, fake) => {
      fake.state.intercept = ({ key }) =>
        key === API.fetch ? new Writer().int32(0).int16(56).int32(0).uvarint(1).noTags() : undefined
      await assert.rejects(fetcher.fetch([target(fake, 'a', 0, 0n)], never), { code: 'KAFKA_NOT_READY' })
      assert.ok(await hasFree(pool))
      fake.state.intercept = () => Buffer.from('00', 'hex')
      await assert.rejects(fetcher.fetch([target(fake, 'a', 0, 0n)], never), { code: 'KAFKA_PROTOCOL' })
      assert.ok(await hasFree(pool))
      const reason = new Error('stopped')
      await assert.rejects(
        fetcher.fetch([target(fake, 'a', 0, 0n)], AbortSignal.abort(reason)),
        error => error === reason,
      )
      assert.ok(await hasFree(pool))
      fake.state.intercept = () => 'hang-up'
      await assert.rejects(fetcher.fetch([target(fake, 'a', 0, 0n)], never), { code: 'KAFKA_DISCONNECTED' })
      assert.ok(await hasFree(pool))
    })
  })

  test('waits for a buffer, and as long as the broker asks it to', () => {
    const pool = new BufferPool(1, 1 << 20)
    return withFetcher(pool, async (fetcher, fake) => {
      const held = await pool.acquire()
      fake.state.intercept = ({ key, nth }) =>
        key === API.fetch && nth === 0 ? new Writer().int32(750).int16(0).int32(0).uvarint(1).noTags() : undefined
      const waiting = fetcher.fetch([target(fake, 'a', 0, 0n)], never)
      assert.equal(
        fake.brokers[0]?.requests.some(({ key }) => key === API.fetch),
        false,
      )
      pool.release(held)
      const throttled = await waiting
      throttled.release()
      const next = await fetcher.fetch([target(fake, 'a', 0, 0n)], never)
      assert.deepEqual(fake.clock.slept, [750])
      next.release()
    })
  })

  test('waits for no longer than an hour, whatever the broker asks for', () =>
    withFetcher(new BufferPool(1, 1 << 20), async (fetcher, fake) => {
      fake.state.intercept = ({ key, nth }) =>
        key === API.fetch && nth === 0
          ? new Writer()
              .int32(2 ** 31 - 1)
              .int16(0)
              .int32(0)
              .uvarint(1)
              .noTags()
          : undefined
      const throttled = await fetcher.fetch([target(fake, 'a', 0, 0n)], never)
      throttled.release()
      const next = await fetcher.fetch([target(fake, 'a', 0, 0n)], never)
      assert.deepEqual(fake.clock.slept, [3_600_000])
      next.release()
    }))
})
