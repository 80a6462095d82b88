import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { observeSource } from '../../src/backup/observe-source.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { encodeBatch, encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { type FakeCluster, type FakeTopic, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'

const never = new AbortController().signal

async function withObserver(
  topics: FakeTopic[],
  work: (
    observe: (include: string[], missingTopics?: 'fail' | 'warn') => ReturnType<typeof observeSource>,
    fake: FakeCluster,
  ) => Promise<void>,
): Promise<void> {
  const fake = await startFakeCluster(topics)
  try {
    const cluster = await fake.open()
    const observe = (include: string[], missingTopics: 'fail' | 'warn' = 'fail') =>
      observeSource({ topics: { include, exclude: [] }, missingTopics }, cluster, never)
    await work(observe, fake)
  } finally {
    await fake.close()
  }
}

const orders = () => fakeTopic('orders', [[encodeRun(5n, 3)], []], { configs: { 'retention.ms': '5' } })
const offsets = fakeTopic('__consumer_offsets', [[]], { internal: true })

describe('a look at the source', () => {
  test('tells the selected topics in order, with their settings and bounds', () =>
    withObserver([orders(), fakeTopic('a', [[]]), offsets], async observe => {
      const observed = await observe(['*'])
      assert.deepEqual([observed.clusterId, observed.brokers, observed.warnings], ['cluster-a', 1, []])
      assert.deepEqual(
        observed.topics.map(topic => topic.name),
        ['a', 'orders'],
      )
      const empty = { logStart: 0n, lastStable: 0n, highWatermark: 0n }
      assert.deepEqual(observed.topics[1], {
        name: 'orders',
        id: orders().id,
        internal: false,
        replicationFactor: 1,
        leaderless: [],
        configs: { 'retention.ms': '5' },
        effectiveConfigs: { 'retention.ms': '5' },
        partitions: [
          { partition: 0, bounds: { logStart: 5n, lastStable: 8n, highWatermark: 8n } },
          { partition: 1, bounds: empty },
        ],
      })
    }))

  test('refuses a topic whose name no reader of a backup accepts, unless it is not selected', () =>
    withObserver([orders(), fakeTopic('a/b', [[]])], async observe => {
      await assert.rejects(observe(['*']), {
        code: 'KAFKA_PROTOCOL',
        message: /topic named "a\/b", which is not a name/,
      })
      assert.equal((await observe(['orders'])).topics.length, 1)
    }))

  test('fails where a name is no topic or nothing is selected, or warns where the job says so', () =>
    withObserver([orders()], async observe => {
      await assert.rejects(observe(['orders', 'lost']), {
        code: 'TOPIC_NOT_FOUND',
        message: 'topic lost does not exist',
        details: { topic: 'lost', field: 'source.topics.include' },
      })
      await assert.rejects(observe(['x*']), { code: 'TOPIC_NOT_FOUND', message: /no topic matches .*x\*/ })
      assert.deepEqual((await observe(['orders', 'lost', 'x*'], 'warn')).warnings, [
        'topic lost does not exist',
        'pattern x* of source.topics.include matches no topic',
      ])
    }))

  test('leaves out topics of schema registries, by name and by their keys, unless they are named', () => {
    const keyed = (key: string) => encodeBatch({ records: [{ key: Buffer.from(key) }] })
    const compacted = { configs: { 'cleanup.policy': 'compact' } }
    const schema = '{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}'
    const topics = [
      orders(),
      fakeTopic('_schemas', [[keyed(schema)]], compacted),
      fakeTopic('platform_schemas', [[keyed('{"keytype":"NOOP","magic":0}')]], compacted),
      fakeTopic('connect-offsets', [[keyed('["file",{"path":"a"}]')]], compacted),
      fakeTopic('connect-configs', [[keyed('connector-a')]], compacted),
      fakeTopic('json-keys', [[keyed('{"keytype":"ORDER"}')]], compacted),
      fakeTopic('two-partitions', [[keyed(schema)], []], compacted),
      fakeTopic('not-compacted', [[keyed(schema)]]),
      fakeTopic('empty', [[]], compacted),
    ]
    return withObserver(topics, async observe => {
      const { topics: taken, warnings } = await observe(['*'])
      const names = ['connect-configs', 'connect-offsets', 'empty', 'json-keys', 'not-compacted', 'orders']
      assert.deepEqual(
        taken.map(({ name }) => name),
        [...names, 'two-partitions'],
      )
      assert.deepEqual(
        warnings.map(
          warning => /^topic (\S+) is left out: a schema registry stores its schemas there/.exec(warning)?.[1],
        ),
        ['_schemas', 'platform_schemas'],
      )
      const named = await observe(['_schemas', 'platform_schemas'])
      assert.deepEqual([named.topics.map(({ name }) => name), named.warnings], [['_schemas', 'platform_schemas'], []])
      await assert.rejects(observe(['pl*']), { code: 'TOPIC_NOT_FOUND', message: /topic platform_schemas is left out/ })
    })
  })

  test('asks for the keys of a topic once, and asks again where they could not be read', () => {
    const batch = encodeBatch({ records: [{ key: Buffer.from('{"keytype":"NOOP","magic":0}') }] })
    const own = fakeTopic('own', [[batch]], { configs: { 'cleanup.policy': 'compact' } })
    return withObserver([orders(), own], async (observe, fake) => {
      let fetches = 0
      fake.state.fetchError = () => (++fetches === 1 ? 29 : 0)
      assert.deepEqual(
        (await observe(['*'])).topics.map(({ name }) => name),
        ['orders', 'own'],
      )
      for (const _ of [1, 2])
        assert.deepEqual(
          (await observe(['*'])).topics.map(({ name }) => name),
          ['orders'],
        )
      assert.equal(fetches, 2)
    })
  })

  test('says that a topic is hidden, not that it is missing', () =>
    withObserver([orders()], async (observe, fake) => {
      const hidden = fakeTopic('hidden', [], { errorCode: 29 })
      fake.state.intercept = ({ key, nth }) => {
        if (key === API.metadata && nth === 2) fake.state.topics.push(hidden)
        return undefined
      }
      await assert.rejects(observe(['orders', 'hidden'], 'warn'), {
        code: 'KAFKA_DENIED',
        message: /not allowed to see hidden/,
      })
    }))

  test('fails where a selected topic cannot be looked at', () =>
    withObserver([orders(), fakeTopic('broken', [], { errorCode: 17 })], async observe => {
      await assert.rejects(observe(['*']), { code: 'KAFKA_REFUSED', message: /looking at topic broken/ })
    }))

  test('does not take a partition for empty whose offsets nobody told', () =>
    withObserver([orders()], async (observe, fake) => {
      fake.state.intercept = ({ key }) =>
        key === API.listOffsets ? new Writer().int32(0).uvarint(1).noTags() : undefined
      await assert.rejects(observe(['orders']), { code: 'KAFKA_PROTOCOL', message: /the offsets of orders\/0/ })
    }))
})
