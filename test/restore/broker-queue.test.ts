import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BrokerQueue } from '../../src/restore/broker-queue.ts'
import { encodeRun } from '../fakes/batches.ts'
import { withTarget } from './scripted-target.ts'

const never = new AbortController().signal
const MiB = 2 ** 20

describe('the queue of a broker', () => {
  const entry = (partition: number, valueBytes = 10) => ({
    topic: 'orders',
    partition,
    batch: encodeRun(0n, 1, { valueBytes }),
  })
  const ask = (queue: BrokerQueue, partition: number, valueBytes = 10) => {
    const one = entry(partition, valueBytes)
    return queue.send(one, one.batch.length)
  }

  test('gathers what is ready at the same time, and sends nothing before the last request is answered', () =>
    withTarget(
      () => undefined,
      async ({ fake, requests }) => {
        await (await fake.open()).metadata({ topics: null }, never)
        const queue = new BrokerQueue(await fake.open(), 0, { timeoutMs: 1000 }, never)
        await Promise.all([0, 1, 2].map(partition => ask(queue, partition)))
        assert.deepEqual(requests, [3])
        await Promise.all([0, 1, 2].map(partition => ask(queue, partition, 5 * MiB)))
        assert.deepEqual(requests, [3, 1, 1, 1], 'a request is no larger than it need be')
        queue.close()
      },
      3,
    ))

  test('rejects every batch of a request whose answer is lost, and takes the next ones', () =>
    withTarget(
      nth => (nth === 0 ? 'answer-lost' : undefined),
      async ({ fake, requests }) => {
        const queue = new BrokerQueue(await fake.open(), 0, { timeoutMs: 1000 }, never)
        const outcomes = await Promise.allSettled([0, 1, 2].map(partition => ask(queue, partition)))
        assert.deepEqual(
          outcomes.map(({ status }) => status),
          ['rejected', 'rejected', 'rejected'],
        )
        assert.equal((await ask(queue, 0)).errorCode, 0)
        assert.deepEqual(requests, [3, 1])
        queue.close()
      },
      3,
    ))

  test('gathers less after a broker has closed the connection on a large request, as Azure Event Hubs does', () =>
    withTarget(
      nth => (nth === 0 ? 'batch-lost' : undefined),
      async ({ fake, requests }) => {
        const queue = new BrokerQueue(await fake.open(), 0, { timeoutMs: 1000 }, never)
        const send = () => Promise.allSettled([0, 1, 2].map(partition => ask(queue, partition, 400_000)))
        const outcomes = await send()
        assert.deepEqual(new Set(outcomes.map(({ status }) => status)), new Set(['rejected']))
        const again = await send()
        assert.deepEqual(new Set(again.map(({ status }) => status)), new Set(['fulfilled']))
        assert.deepEqual(requests, [3, 2, 1])
        queue.close()
      },
      3,
    ))

  test('never puts two batches of one partition into a request', () =>
    withTarget(
      () => undefined,
      async ({ fake, log }) => {
        const queue = new BrokerQueue(await fake.open(), 0, { timeoutMs: 1000 }, never)
        const outcomes = await Promise.allSettled([ask(queue, 0), ask(queue, 0)])
        assert.deepEqual([...new Set(outcomes.map(({ status }) => status))], ['rejected'])
        assert.deepEqual(log(), [], 'a broker would drop one of them without a word')
        queue.close()
      },
    ))
})
