import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { deleteTopicsApi } from '../../src/kafka/api/delete-topics.ts'
import type { Cluster } from '../../src/kafka/cluster.ts'
import { callController } from '../../src/kafka/cluster.ts'
import { commitGroupOffsets, fetchGroupOffsets, type GroupOffset } from '../../src/kafka/group-offsets.ts'
import { alterTopicConfigs, createTopics, type NewTopic } from '../../src/kafka/topic-admin.ts'
import { readBrokerConfigs, readTopicConfigs } from '../../src/kafka/topic-configs.ts'
import { waitForTopics } from '../../src/kafka/topic-leaders.ts'
import { findGroups } from '../../src/offsets/read-source-groups.ts'
import { encodeRun } from '../fakes/batches.ts'
import { deleteGroup } from '../fakes/delete-requests.ts'
import { Producer } from '../fakes/producer.ts'
import { startKafka } from '../servers/kafka.ts'
import { olderKafkaVersion, oldestKraftVersion } from '../servers/kafka-dist.ts'
import { runKafkaTool } from '../servers/kafka-tools.ts'
import { waitFor } from '../wait-for.ts'
import { openCluster, stamped, waitForLogs } from './raw-produce.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const timeoutMs = 10_000
const topic = (name: string, changes: Partial<NewTopic> = {}): NewTopic => ({
  name,
  partitions: 1,
  replication: -1,
  configs: {},
  ...changes,
})

describe('topic and group administration', () => {
  const kafka = useKafka()
  let cluster: Cluster
  before(async () => {
    cluster = await openCluster(kafka.server)
  })
  after(() => cluster?.close())

  test('creates topics with their settings, and distinguishes refused from existing ones', async () => {
    const wanted = [
      topic('made', { partitions: 3, configs: { 'retention.ms': '12345', 'cleanup.policy': 'compact,delete' } }),
      topic('unknown-setting', { configs: { 'no.such.setting': '1', 'retention.ms': '5', 'segment.bytes': '1' } }),
      topic('wrong-value', { configs: { 'retention.ms': 'soon' } }),
      topic('too-many-copies', { replication: 3 }),
      topic('assigned', { replication: [[1], [1]], partitions: 2 }),
      topic('not/a/name'),
    ]
    const tried = await createTopics(cluster, wanted, { timeoutMs, validateOnly: true }, never)
    assert.equal(tried[0]?.outcome, 'created')
    const answers = await createTopics(cluster, wanted, { timeoutMs }, never)
    assert.deepEqual(
      answers.map(({ name, outcome }) => [name, outcome]),
      [
        ['made', 'created'],
        ['unknown-setting', 'refused'],
        ['wrong-value', 'refused'],
        ['too-many-copies', 'refused'],
        ['assigned', 'created'],
        ['not/a/name', 'refused'],
      ],
      'nothing of the first round is there',
    )
    const messages = answers.map(answer => (answer.outcome === 'refused' ? answer.error.message : ''))
    assert.match(
      messages[1] ?? '',
      /^topic unknown-setting: the broker does not take `no\.such\.setting: 1` \(.+\), `segment\.bytes: 1` \(.+\)$/,
    )
    assert.match(messages[2] ?? '', /wrong-value.*`retention\.ms: soon` \(.+\)/)
    assert.deepEqual(
      answers.map(answer => (answer.outcome === 'refused' ? answer.settings : [])),
      [[], ['no.such.setting', 'segment.bytes'], ['retention.ms'], [], [], []],
    )
    assert.match(messages[3] ?? '', /too-many-copies.*INVALID_REPLICATION_FACTOR \(38\): /)
    assert.match(messages[5] ?? '', /not\/a\/name.*INVALID_TOPIC_EXCEPTION \(17\): /)
    const [made, assigned] = await waitForTopics(
      cluster,
      [
        { name: 'made', partitions: 3 },
        { name: 'assigned', partitions: 2 },
      ],
      never,
    )
    assert.equal(answers[0]?.outcome === 'created' && answers[0].topicId, made?.id)
    assert.equal(assigned?.partitions.length, 2)
    const again = await createTopics(cluster, [topic('made'), topic('another')], { timeoutMs }, never)
    assert.deepEqual(
      again.map(({ outcome }) => outcome),
      ['exists', 'created'],
    )
  })

  test('reads settings with their source', async () => {
    await createTopics(cluster, [topic('read', { configs: { 'segment.bytes': '1048577' } })], { timeoutMs }, never)
    await waitForTopics(cluster, [{ name: 'read', partitions: 1 }], never)
    const configs = (await readTopicConfigs(cluster, ['read'], never)).get('read')
    assert.deepEqual(configs?.get('segment.bytes'), { value: '1048577', source: 'topic' })
    assert.deepEqual(configs?.get('max.message.bytes'), { value: '41943040', source: 'server_properties' })
    assert.deepEqual(configs?.get('retention.ms'), { value: '-1', source: 'server_properties' })
    assert.deepEqual(configs?.get('retention.bytes'), { value: '-1', source: 'default' })
    assert.deepEqual(configs?.get('message.timestamp.type'), { value: 'CreateTime', source: 'default' })
    const always = ['cleanup.policy', 'min.insync.replicas', 'compression.type', 'message.timestamp.before.max.ms']
    for (const name of always) assert.equal(typeof configs?.get(name)?.value, 'string', name)
    const broker = await readBrokerConfigs(cluster, 1, never)
    assert.deepEqual(broker.get('message.max.bytes'), { value: '41943040', source: 'server_properties' })
    assert.deepEqual(broker.get('socket.request.max.bytes'), { value: '104857600', source: 'default' })
    await assert.rejects(readTopicConfigs(cluster, ['absent'], never), { code: 'TOPIC_NOT_FOUND', message: /absent/ })
  })

  test('sets and removes settings; names every refused one, and leaves its topic alone', async () => {
    const start = { 'retention.ms': '1000000', 'segment.bytes': '1048577' }
    await createTopics(cluster, [topic('a', { configs: start }), topic('b', { configs: start })], { timeoutMs }, never)
    await waitForTopics(cluster, [topic('a'), topic('b')], never)
    const refused = await alterTopicConfigs(
      cluster,
      [
        { topic: 'a', configs: { 'retention.ms': '2000000', 'segment.bytes': null, 'cleanup.policy': 'compact' } },
        { topic: 'b', configs: { 'retention.ms': '-5', 'segment.bytes': null, 'no.such.setting': 'x' } },
        { topic: 'absent', configs: { 'retention.ms': '1' } },
      ],
      {},
      never,
    )
    assert.deepEqual(
      refused.map(({ topic: name, settings, error }) => [name, settings, error.code]),
      [
        ['b', ['retention.ms', 'no.such.setting'], 'KAFKA_REFUSED'],
        ['absent', [], 'TOPIC_NOT_FOUND'],
      ],
    )
    assert.match(
      refused[0]?.error.message ?? '',
      /topic b: .*`retention\.ms: -5` \(.*-5.*\), `no\.such\.setting: x` \(/,
    )
    const isKnown = async () => (await cluster.topicConfigs(['a'], never)).get('a')?.['cleanup.policy'] === 'compact'
    await waitFor('the settings are known', isKnown)
    const own = await cluster.topicConfigs(['a', 'b'], never)
    assert.deepEqual(own.get('a'), { 'retention.ms': '2000000', 'cleanup.policy': 'compact' })
    assert.deepEqual(own.get('b'), start)
  })

  const offset = (partition: number, changes: Partial<GroupOffset> = {}): GroupOffset => ({
    topic: 'counted',
    partition,
    offset: 0n,
    leaderEpoch: -1,
    metadata: '',
    ...changes,
  })

  test("a group's offsets are read back as they were committed, by us and by Kafka's own tool", async () => {
    await createTopics(cluster, [topic('counted', { partitions: 400 })], { timeoutMs }, never)
    const offsets = [
      offset(0, { offset: 42n, leaderEpoch: 3, metadata: 'ü'.repeat(2048) }),
      offset(1, { offset: 2n ** 40n }),
      offset(2),
    ]
    await commitGroupOffsets(cluster, 'g', offsets, never)
    const found = await fetchGroupOffsets(cluster, 'g', 'all', never)
    assert.deepEqual(
      found.sort((a, b) => a.partition - b.partition),
      offsets,
    )
    assert.deepEqual(await fetchGroupOffsets(cluster, 'g', [offset(1), offset(3)], never), [offsets[1]])
    const { stdout } = await runKafkaTool(kafka.server, 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand', [
      '--bootstrap-server',
      kafka.server.bootstrapServers.join(),
      '--describe',
      '--group',
      'g',
    ])
    assert.match(stdout, /^g +counted +0 +42 /m)
    await deleteGroup(cluster, 'g', never)
    await deleteGroup(cluster, 'g', never)
    assert.deepEqual(await fetchGroupOffsets(cluster, 'g', 'all', never), [])
  })

  test('commits more offsets than a coordinator accepts at once in several requests', async () => {
    const offsets = Array.from({ length: 400 }, (_, i) =>
      offset(i, { offset: BigInt(i), metadata: `${i} `.repeat(900) }),
    )
    await commitGroupOffsets(cluster, 'many', offsets, never)
    const found = await fetchGroupOffsets(cluster, 'many', 'all', never)
    assert.deepEqual(
      found.sort((a, b) => a.partition - b.partition),
      offsets,
    )
  })

  test('refuses metadata that no broker accepts, with its partition, before anything is sent', async () => {
    const offsets = [offset(0), offset(7, { metadata: 'x'.repeat(4097) })]
    const message = /committing counted\/7 of group long: its metadata has 4097 characters, more than .* which is 4096/
    await assert.rejects(commitGroupOffsets(cluster, 'long', offsets, never), { code: 'KAFKA_REFUSED', message })
    assert.deepEqual(await fetchGroupOffsets(cluster, 'long', 'all', never), [])
  })

  test('commits as many characters of metadata as brokers take, whatever bytes they have', async () => {
    const [longest, longer] = [offset(1, { metadata: 'ü'.repeat(4096) }), offset(1, { metadata: 'ü'.repeat(4097) })]
    await commitGroupOffsets(cluster, 'umlauts', [longest], never)
    assert.deepEqual(await fetchGroupOffsets(cluster, 'umlauts', 'all', never), [longest])
    await assert.rejects(commitGroupOffsets(cluster, 'umlauts', [longer], never), { code: 'KAFKA_REFUSED' })
  })

  test('leaves a group with members alone', async () => {
    await kafka.driver.holdGroup({ group: 'busy', topics: ['counted'] })
    const message = /committing counted\/0 of group busy: .*UNKNOWN_MEMBER_ID/
    await assert.rejects(commitGroupOffsets(cluster, 'busy', [offset(0)], never), { code: 'GROUP_ACTIVE', message })
    await kafka.driver.releaseGroup('busy')
    await commitGroupOffsets(cluster, 'busy', [offset(0)], never)
  })
})

describe('an older Kafka accepts the same requests', () => {
  for (const version of [olderKafkaVersion, oldestKraftVersion]) {
    test(`Kafka ${version}`, async () => {
      await using server = await startKafka({ version })
      const cluster = await openCluster(server)
      try {
        const [made, bad] = await createTopics(
          cluster,
          [topic('t', { configs: { 'retention.ms': '1' } }), topic('bad', { configs: { 'no.such': '1' } })],
          { timeoutMs },
          never,
        )
        assert.deepEqual([made?.outcome, bad?.outcome], ['created', 'refused'])
        const change = { topic: 't', configs: { 'retention.ms': null, 'no.such': 'x' } }
        assert.deepEqual(
          (await alterTopicConfigs(cluster, [change], {}, never)).map(({ settings }) => settings),
          [['no.such']],
        )
        await alterTopicConfigs(cluster, [{ topic: 't', configs: { 'retention.ms': '-1' } }], {}, never)
        const [found] = await waitForTopics(cluster, [topic('t')], never)
        const brokerId = found?.partitions[0]?.leader ?? -1
        const retention = async () => (await readTopicConfigs(cluster, ['t'], never)).get('t')?.get('retention.ms')
        await waitFor('the retention is known', async () => (await retention())?.value === '-1')
        assert.deepEqual(await retention(), { value: '-1', source: 'topic' })
        assert.ok((await readBrokerConfigs(cluster, brokerId, never)).has('message.max.bytes'))

        await waitForLogs(cluster, 't', 1)
        const producer = await Producer.open(cluster, { timeoutMs }, never)
        const baseTimestamp = BigInt(Date.now())
        for (const [sequence, expected] of [
          [0, [0, 0n]],
          [2, [0, 2n]],
          [0, [0, 0n]],
          [9, [45, -1n]],
        ] as const) {
          const batch = stamped(encodeRun(0n, 2, { codec: 'zstd', baseTimestamp }), producer.identity, sequence)
          const [answer] = await producer.produce(brokerId, [{ topic: 't', partition: 0, batch }], never)
          assert.deepEqual([answer?.errorCode, answer?.baseOffset], expected)
        }
        producer.close()

        const offsets = [{ topic: 't', partition: 0, offset: 2n, leaderEpoch: 0, metadata: 'where we are' }]
        await commitGroupOffsets(cluster, 'g', offsets, never)
        assert.deepEqual(await fetchGroupOffsets(cluster, 'g', 'all', never), offsets)
        const { groups, leftOut } = await findGroups(cluster, { include: ['*'], exclude: [] }, never)
        const nothing = { members: 0, error: null, undecided: [], unset: [] }
        assert.deepEqual(groups, [{ group: 'g', type: 'classic', state: 'Empty', positions: offsets, ...nothing }])
        assert.deepEqual(leftOut, [])
        await deleteGroup(cluster, 'g', never)
        const request = { topics: [{ name: 't', id: found?.id ?? '' }, { name: 'absent' }], timeoutMs }
        const deleted = await callController(cluster, deleteTopicsApi, request, timeoutMs, never)
        assert.deepEqual(deleted.topics.map(({ errorCode }) => errorCode).sort(), [0, 3])
      } finally {
        cluster.close()
      }
    })
  }
})
