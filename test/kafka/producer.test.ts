import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { RateLimiter } from '../../src/lib/rate-limiter.ts'
import { API, type BrokerAnswer, type BrokerRequest } from '../fakes/fake-broker.ts'
import { type FakeCluster, startFakeCluster } from '../fakes/fake-cluster.ts'
import { Producer, type ProducerOptions } from '../fakes/producer.ts'

const never = new AbortController().signal
const identity = { producerId: 7n, producerEpoch: 1 }
const entry = (topic: string, partition: number, text = 'batch') => ({ topic, partition, batch: Buffer.from(text) })

interface Written {
  topic: string
  partition: number
  text: string
}

/** What a request would have the broker store, in its order. */
function decodeProduce({ body }: BrokerRequest): Written[] {
  body.nullableString()
  assert.equal(body.int16(), -1, 'all replicas acknowledge')
  assert.equal(body.int32(), 500)
  const topics = body.array(() => {
    const topic = body.string()
    const partitions = body.array(() => {
      const partition = body.int32()
      const { start, end } = body.bytesRange()
      body.tags()
      return { topic, partition, text: body.buffer.toString('utf8', start, end) }
    })
    body.tags()
    return partitions
  })
  return topics.flat()
}

function encodeAnswers(written: readonly Written[], errorCode: (one: Written) => number, throttleMs = 0): Writer {
  const writer = new Writer()
  writer.array([...Map.groupBy(written, one => one.topic)], ([topic, each]) => {
    writer.string(topic).array(each, one => {
      writer.int32(one.partition).int16(errorCode(one)).int64(BigInt(one.partition)).int64(-1n).int64(0n)
      writer
        .array([], () => undefined)
        .string(null)
        .noTags()
    })
    writer.noTags()
  })
  return writer.int32(throttleMs).noTags()
}

async function withProducer(
  answer: (request: BrokerRequest, brokerId: number) => BrokerAnswer | Promise<BrokerAnswer>,
  work: (producer: Producer, fake: FakeCluster) => Promise<void>,
  options: (fake: FakeCluster) => Partial<ProducerOptions> = () => ({ identity }),
): Promise<void> {
  const fake = await startFakeCluster([], 2)
  try {
    fake.state.intercept = (request, brokerId) =>
      request.key === API.produce || request.key === API.initProducerId ? answer(request, brokerId) : undefined
    const producer = await Producer.open(await fake.open(), { timeoutMs: 500, ...options(fake) }, never)
    await work(producer, fake)
    producer.close()
  } finally {
    await fake.close()
  }
}

describe('a producer', () => {
  test('asks for an id of its own, until the cluster has one to give', () =>
    withProducer(
      ({ nth }) =>
        new Writer()
          .int32(0)
          .int16(nth === 0 ? 14 : 0)
          .int64(nth === 0 ? -1n : 99n)
          .int16(nth === 0 ? -1 : 0)
          .noTags(),
      async producer => assert.deepEqual(producer.identity, { producerId: 99n, producerEpoch: 0 }),
      () => ({}),
    ))

  test('goes on as the one it is told to be, and asks nobody', () =>
    withProducer(
      () => 'hang-up',
      async (producer, { brokers }) => {
        assert.deepEqual(producer.identity, identity)
        assert.ok(brokers.every(broker => !broker.requests.some(({ key }) => key === API.initProducerId)))
      },
    ))

  test('brings the answer for each batch in the order of the batches, whatever the order of the answer', () => {
    const seen: Written[] = []
    return withProducer(
      request => {
        seen.push(...decodeProduce(request))
        return encodeAnswers(seen.toReversed(), ({ topic }) => (topic === 'b' ? 6 : 0))
      },
      async producer => {
        const pieces = { topic: 'a', partition: 1, batch: [Buffer.from('in '), Buffer.from('pieces')] }
        const answers = await producer.produce(1, [entry('a', 2), entry('b', 0), pieces], never)
        assert.deepEqual(
          answers.map(({ topic, partition, errorCode, baseOffset }) => [topic, partition, errorCode, baseOffset]),
          [
            ['a', 2, 0, 2n],
            ['b', 0, 6, 0n],
            ['a', 1, 0, 1n],
          ],
        )
        assert.deepEqual(
          seen.map(({ topic, partition, text }) => `${topic}/${partition} ${text}`),
          ['a/2 batch', 'a/1 in pieces', 'b/0 batch'],
        )
      },
    )
  })

  test('takes a batch of which the broker says nothing for a failure', () =>
    withProducer(
      request => encodeAnswers(decodeProduce(request).slice(1), () => 0),
      async producer => {
        const call = producer.produce(0, [entry('a', 0), entry('a', 1)], never)
        await assert.rejects(call, { code: 'KAFKA_PROTOCOL', message: /did not say whether it stored a\/0/ })
      },
    ))

  test('sends nothing when a partition is named twice', () =>
    withProducer(
      () => 'hang-up',
      async (producer, { brokers }) => {
        await assert.rejects(producer.produce(0, [entry('a', 0), entry('a', 0)], never), /one batch a partition/)
        assert.equal(brokers[0]?.requests.filter(({ key }) => key === API.produce).length, 0)
      },
    ))

  test('sends one request after the other to a broker, and to two brokers side by side', () => {
    const order: string[] = []
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    return withProducer(
      async (request, brokerId) => {
        const written = decodeProduce(request)
        order.push(`${brokerId} ${written[0]?.text}`)
        if (written[0]?.text === 'first') await held
        if (brokerId === 1) release()
        return encodeAnswers(written, () => 0)
      },
      async producer => {
        const calls = [
          producer.produce(0, [entry('a', 0, 'first')], never),
          producer.produce(0, [entry('a', 0, 'second')], never),
          producer.produce(1, [entry('a', 1, 'other')], never),
        ]
        await Promise.all(calls)
        assert.deepEqual(order, ['0 first', '1 other', '0 second'])
      },
    )
  })

  test('fails with an error worth another try when the connection is lost, and opens a new one for the next call', () =>
    withProducer(
      request => (request.nth === 0 ? 'hang-up' : encodeAnswers(decodeProduce(request), () => 0)),
      async producer => {
        await assert.rejects(producer.produce(0, [entry('a', 0)], never), { retryable: true })
        assert.equal((await producer.produce(0, [entry('a', 0)], never))[0]?.errorCode, 0)
      },
    ))

  test('waits as long as the broker asks it to, and as long as its limit does', () =>
    withProducer(
      request => encodeAnswers(decodeProduce(request), () => 0, request.nth === 0 ? 750 : 0),
      async (producer, { clock }) => {
        for (let i = 0; i < 3; i++) await producer.produce(0, [entry('a', 0, 'x'.repeat(2000))], never)
        assert.equal(clock.slept[0], 750)
        assert.ok(
          clock.slept.slice(1).some(ms => ms > 100),
          `the limiter: ${clock.slept}`,
        )
      },
      ({ clock }) => ({ identity, limiter: new RateLimiter(1000, clock) }),
    ))

  test('is of no use once it is closed, and leaves no connection behind', () =>
    withProducer(
      request => encodeAnswers(decodeProduce(request), () => 0),
      async (producer, { brokers }) => {
        const open = brokers[0]?.openConnections
        const call = producer.produce(0, [entry('a', 0)], never)
        producer.close()
        await assert.rejects(call, { code: 'KAFKA_DISCONNECTED' })
        for (const broker of [0, 1]) {
          await assert.rejects(producer.produce(broker, [entry('a', 0)], never), { code: 'KAFKA_DISCONNECTED' })
        }
        for (let i = 0; i < 1000 && brokers[0]?.openConnections !== open; i++) {
          await new Promise(resolve => setImmediate(resolve))
        }
        assert.equal(brokers[0]?.openConnections, open)
      },
    ))
})
