import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode, KafkaBackupError } from '../../src/errors.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { encodeRun } from '../fakes/batches.ts'
import { ANY_VERSION, API } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { eventHubs, mskServerlessSettings } from '../fakes/kafka-services.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { type FakeTarget, withFakeTarget } from './fake-target.ts'

const writes: readonly number[] = [API.createTopics, API.incrementalAlterConfigs, API.alterConfigs, API.produce]

const writesOf = ({ fake }: FakeTarget) => fake.brokers.flatMap(broker => broker.requests).filter(isWrite)
const isWrite = ({ key }: { key: number }) => writes.includes(key)

describe('Azure Event Hubs', () => {
  test('is refused as a target before anything is written, because nothing shows what its topics would keep', () =>
    withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 7)]])], async target => {
      const { state } = target.fake
      state.versions = () => new Map([...ANY_VERSION].filter(([key]) => eventHubs.has(key)))
      await assert.rejects(
        target.restore(),
        error => hasCode(error, 'KAFKA_UNSUPPORTED') && /does not speak DescribeConfigs/.test(error.message),
      )
      assert.deepEqual(writesOf(target), [])
    }))
})

describe('MSK Serverless', () => {
  test('gets a topic without the settings that it does not take, each with a warning before records are written', () => {
    const configs = { 'retention.ms': '-1', 'segment.ms': '1000', 'min.cleanable.dirty.ratio': '0.1' }
    return withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 7)]], { configs })], async target => {
      for (const name of Object.keys(configs)) if (!mskServerlessSettings.has(name)) target.refused.add(name)
      const { warnings } = await target.restore()
      const text = warnings.join('\n')
      assert.match(text, /orders: the target does not take its setting segment\.ms: 1000/)
      assert.match(text, /orders: the target does not take its setting min\.cleanable\.dirty\.ratio: 0\.1/)
      assert.deepEqual(target.log('orders'), [[0, 7]])
      assert.deepEqual(target.topic('orders')?.configs, { 'retention.ms': '-1' })
    })
  })

  test('lets the cleanup policy be set only when a topic is created: the restore reports what it could not set', () => {
    const configs = { 'cleanup.policy': 'compact', 'retention.ms': '-1' }
    return withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 7)]], { configs })], async target => {
      let isFilled = false
      target.before = ({ key }) => {
        if (key === API.produce) isFilled = true
        if (key === API.incrementalAlterConfigs && isFilled) target.refused.add('cleanup.policy')
        return undefined
      }
      const { warnings } = await target.restore()
      assert.match([...warnings, ...target.warned].join('\n'), /orders.*cleanup\.policy/)
      assert.deepEqual(target.log('orders'), [[0, 7]])
      assert.equal(target.topic('orders')?.configs['cleanup.policy'], 'delete')
    })
  })
})

describe('Confluent Cloud', () => {
  /** Its documentation says that writing to a mirror topic fails, and not with which error. */
  for (const errorCode of [42, 44, 29]) {
    test(`refuses records for the mirror topic of a cluster link with error ${errorCode}: the restore ends with its name`, () =>
      withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 7)]])], async target => {
        target.fake.state.topics.push(fakeTopic('orders', [[]]))
        target.before = ({ key }) => (key === API.produce ? refuseBatch(errorCode) : undefined)
        const failure = await target.restore().then(
          () => assert.fail('nothing was refused'),
          error => error,
        )
        assert.ok(failure instanceof KafkaBackupError && !failure.retryable, String(failure))
        assert.match(failure.message, /writing orders\/0: the broker answered .*read-only/)
        assert.deepEqual(target.log('orders'), [])
      }))
  }
})

describe('WarpStream', () => {
  test('gets every record once while every Metadata answer names other leaders', () =>
    withFakeTarget(
      [fakeTopic('orders', [[encodeRun(0n, 7)], [encodeRun(0n, 5)], [encodeRun(0n, 3)]])],
      async target => {
        const { fake } = target
        const written = new Set<number>()
        let asked = 0
        fake.state.servesAnywhere = true
        const answer = fake.state.intercept
        fake.state.intercept = (request, brokerId) => {
          if (request.key === API.produce) written.add(brokerId)
          if (request.key === API.metadata) asked++
          const all = fake.state.topics.flatMap(topic => topic.partitions)
          for (const [i, partition] of all.entries()) partition.leader = (i + asked) % 3
          return answer(request, brokerId)
        }
        await target.restore()
        assert.deepEqual(
          [0, 1, 2].map(partition => target.log('orders', partition)),
          [[[0, 7]], [[0, 5]], [[0, 3]]],
        )
        assert.equal(written.size, 3)
      },
      openMemoryStorage(),
      undefined,
      3,
    ))
})

function refuseBatch(errorCode: number): Writer {
  const writer = new Writer()
  const refused = () => {
    writer.int32(0).int16(errorCode).int64(-1n).int64(-1n).int64(0n)
    writer
      .array([], () => undefined)
      .string('the topic is a read-only mirror')
      .noTags()
  }
  return writer
    .array([0], () => writer.string('orders').array([0], refused).noTags())
    .int32(0)
    .noTags()
}
