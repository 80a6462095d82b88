import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { alterTopicConfigs, createTopics, type NewTopic, splitTopics } from '../../src/kafka/topic-admin.ts'
import { waitForTopics } from '../../src/kafka/topic-leaders.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { API, type BrokerAnswer, type BrokerRequest } from '../fakes/fake-broker.ts'
import { type FakeCluster, type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { kafka21 } from '../fakes/kafka-releases.ts'

const never = new AbortController().signal
const id = '11'.repeat(16)

async function withFake(work: (fake: FakeCluster) => Promise<void>, topics: FakeTopic[] = []): Promise<void> {
  const fake = await startFakeCluster(topics)
  try {
    await work(fake)
  } finally {
    await fake.close()
  }
}

const newTopic = (name: string, partitions = 1): NewTopic => ({ name, partitions, replication: 1, configs: {} })

/** Answers the nth CreateTopics with an error code for each topic, of those that it names. */
function answerCreations(fake: FakeCluster, answers: (BrokerAnswer | Record<string, number>)[]): string[][] {
  const asked: string[][] = []
  fake.state.intercept = request => {
    if (request.key !== API.createTopics) return undefined
    asked.push(namesOf(request))
    const answer = answers[request.nth] ?? 'hang-up'
    if (typeof answer === 'string' || Buffer.isBuffer(answer) || answer instanceof Writer) return answer
    const writer = new Writer().int32(0)
    return writer
      .array(Object.entries(answer), ([name, errorCode]) =>
        writer
          .string(name)
          .uuid(id)
          .int16(errorCode)
          .string(errorCode === 0 ? null : `no ${name}`)
          .int32(1)
          .int16(1)
          .array([], () => undefined)
          .noTags(),
      )
      .noTags()
  }
  return asked
}

/** The topics of a request whose topics have neither settings nor assignments. */
function namesOf({ body }: BrokerRequest): string[] {
  return body.array(() => {
    const name = body.string()
    body.position += 6 + 2
    body.tags()
    return name
  })
}

describe('creating topics', () => {
  test('is tried again for those that a passing fault hit, and only for those', () =>
    withFake(async fake => {
      const asked = answerCreations(fake, [{ a: 0, b: 41, c: 40, d: 36 }, { b: 0 }])
      const wanted = ['a', 'b', 'c', 'd'].map(name => newTopic(name))
      const made = await createTopics(await fake.open(), wanted, { timeoutMs: 100 }, never)
      assert.deepEqual(asked, [['a', 'b', 'c', 'd'], ['b']])
      assert.deepEqual(
        made.map(one => (one.outcome === 'refused' ? [one.name, one.error.message] : one)),
        [
          { name: 'a', outcome: 'created', topicId: id },
          { name: 'b', outcome: 'created', topicId: id },
          ['c', 'creating topic c: the broker answered INVALID_CONFIG (40): no c'],
          { name: 'd', outcome: 'exists', isMaybeOurs: false },
        ],
      )
    }))

  for (const [how, first] of [
    ['no answer', 'hang-up'],
    ['an answer that came too late', { a: 7 }],
  ] as const) {
    test(`may turn out to be done already after ${how}`, () =>
      withFake(async fake => {
        answerCreations(fake, [first, { a: 36 }])
        const made = await createTopics(await fake.open(), [newTopic('a')], { timeoutMs: 100 }, never)
        assert.deepEqual(made, [{ name: 'a', outcome: 'exists', isMaybeOurs: true }])
      }))
  }

  test('fails where the broker leaves a topic out of its answer', () =>
    withFake(async fake => {
      answerCreations(fake, [{ a: 0 }])
      const call = createTopics(await fake.open(), [newTopic('a'), newTopic('b')], { timeoutMs: 100 }, never)
      await assert.rejects(call, { code: 'KAFKA_PROTOCOL', message: /what became of b/ })
    }))

  test('takes several requests where the topics are many, one for a topic that is too large by itself', () => {
    const topics = [newTopic('a', 3), newTopic('b', 4), newTopic('c', 50), newTopic('d', 1), newTopic('e', 1)]
    assert.deepEqual(
      splitTopics(topics, 10).map(some => some.map(({ name }) => name)),
      [['a', 'b'], ['c'], ['d', 'e']],
    )
    assert.deepEqual(splitTopics([], 10), [])
  })
})

describe('configuring topics', () => {
  interface Asked {
    topics: Record<string, Record<string, string | null>>
    validateOnly: boolean
  }

  function decodeChanges({ body }: BrokerRequest): Asked {
    const topics = body.array(() => {
      body.int8()
      const name = body.string()
      const changes = body.array(() => {
        const change = [body.string(), body.int8(), body.nullableString()] as const
        body.tags()
        return [change[0], change[2]] as const
      })
      body.tags()
      return [name, Object.fromEntries(changes)] as const
    })
    return { topics: Object.fromEntries(topics), validateOnly: body.boolean() }
  }

  function answerChanges(fake: FakeCluster, errorCode: (settings: string[], nth: number) => number): Asked[] {
    const asked: Asked[] = []
    fake.state.intercept = request => {
      if (request.key !== API.incrementalAlterConfigs) return undefined
      const changes = decodeChanges(request)
      asked.push(changes)
      const writer = new Writer().int32(0)
      return writer
        .array(Object.entries(changes.topics), ([name, settings]) => {
          const keys = Object.keys(settings)
          writer.int16(errorCode(keys, request.nth)).string(`not ${keys}`).int8(2).string(name).noTags()
        })
        .noTags()
    }
    return asked
  }

  test('names each setting that is refused, although the broker names none', () =>
    withFake(async fake => {
      const asked = answerChanges(fake, settings => (settings.some(name => name.startsWith('bad')) ? 44 : 0))
      const configs = { bad1: 'x', good: '1', bad2: null }
      const change = [
        { topic: 'a', configs },
        { topic: 'b', configs: { good: '2' } },
      ]
      const [refused, ...others] = await alterTopicConfigs(await fake.open(), change, {}, never)
      assert.deepEqual(others, [])
      assert.deepEqual(refused?.settings, ['bad1', 'bad2'])
      assert.equal(
        refused?.error.message,
        'topic a: the broker does not take `bad1: x` (not bad1), `bad2: null` (not bad2)',
      )
      assert.deepEqual(asked, [
        { topics: { a: configs, b: { good: '2' } }, validateOnly: false },
        { topics: { a: { bad1: 'x' } }, validateOnly: true },
        { topics: { a: { good: '1' } }, validateOnly: true },
        { topics: { a: { bad2: null } }, validateOnly: true },
      ])
    }))

  test('reports what is wrong with the topic as a whole, and with settings that only together are wrong', () =>
    withFake(async fake => {
      answerChanges(fake, settings => (settings.includes('denied') ? 29 : settings.length > 1 ? 40 : 0))
      const cluster = await fake.open()
      const change = [
        { topic: 'a', configs: { denied: '1' } },
        { topic: 'b', configs: { one: '1', two: '2' } },
      ]
      const refused = await alterTopicConfigs(cluster, change, {}, never)
      assert.deepEqual(
        refused.map(({ topic, settings, error }) => [topic, settings, error.code, error.message]),
        [
          [
            'a',
            [],
            'KAFKA_DENIED',
            'configuring topic a: the broker answered TOPIC_AUTHORIZATION_FAILED (29): not denied',
          ],
          ['b', [], 'KAFKA_REFUSED', 'configuring topic b: the broker answered INVALID_CONFIG (40): not one,two'],
        ],
      )
    }))

  test('asks again while the controller moves, and nothing at all where there is nothing to change', () =>
    withFake(async fake => {
      const asked = answerChanges(fake, (_, nth) => (nth === 0 ? 41 : 0))
      const cluster = await fake.open()
      assert.deepEqual(await alterTopicConfigs(cluster, [{ topic: 'a', configs: {} }], {}, never), [])
      assert.equal(asked.length, 0)
      assert.deepEqual(await alterTopicConfigs(cluster, [{ topic: 'a', configs: { k: 'v' } }], {}, never), [])
      assert.equal(asked.length, 2)
    }))
})

describe('waiting for topics', () => {
  test('ends when each partition has a leader', () =>
    withFake(async fake => {
      const cluster = await fake.open()
      let asked = 0
      fake.state.intercept = ({ key }) => {
        if (key !== API.metadata) return undefined
        asked++
        if (asked === 2) fake.state.topics.push(fakeTopic('a', [[]], { errorCode: 5 }))
        const [topic] = fake.state.topics
        if (asked === 3 && topic)
          Object.assign(topic, { errorCode: 0, partitions: [fakePartition([]), fakePartition([], { leader: -1 })] })
        if (asked === 4 && topic) topic.partitions = [fakePartition([]), fakePartition([])]
        return undefined
      }
      const [topic] = await waitForTopics(cluster, [{ name: 'a', partitions: 2 }], never)
      assert.deepEqual([topic?.name, topic?.partitions.map(({ leader }) => leader), asked], ['a', [0, 0], 4])
    }))

  test('gives up after a while, and at once where we may not see the topic', () =>
    withFake(
      async fake => {
        const cluster = await fake.open()
        await assert.rejects(waitForTopics(cluster, [{ name: 'absent', partitions: 3 }], never), {
          code: 'KAFKA_NOT_READY',
          message: 'topic absent has leaders for 0 of 3 partitions',
        })
        const before = fake.clock.slept.length
        await assert.rejects(waitForTopics(cluster, [{ name: 'secret', partitions: 1 }], never), {
          code: 'KAFKA_DENIED',
        })
        assert.equal(fake.clock.slept.length, before)
      },
      [fakeTopic('secret', [], { errorCode: 29 })],
    ))
})

test('a broker that replaces all settings of a topic at once is sent those that stay, too', () =>
  withFake(
    async fake => {
      fake.state.versions = () => kafka21
      const sent: Record<string, string | null>[] = []
      fake.state.intercept = ({ key, body, answer }) => {
        if (key !== API.alterConfigs) return undefined
        body.array(() => {
          body.int8()
          assert.equal(body.string(), 'a')
          sent.push(Object.fromEntries(body.array(() => [body.string(), body.nullableString()])))
        })
        const writer = answer().int32(0)
        return writer.array(['a'], name => writer.int16(0).string(null).int8(2).string(name))
      }
      const changes = [{ topic: 'a', configs: { 'retention.ms': '5', 'segment.ms': null } }]
      assert.deepEqual(await alterTopicConfigs(await fake.open(), changes, {}, never), [])
      assert.deepEqual(sent, [{ 'cleanup.policy': 'compact', 'retention.ms': '5' }])
    },
    [fakeTopic('a', [[]], { configs: { 'cleanup.policy': 'compact', 'segment.ms': '9' } })],
  ))

test('a broker that replaces all settings of a topic is sent nothing where it does not tell which ones stay', () =>
  withFake(
    async fake => {
      fake.state.versions = () => kafka21
      let altered = 0
      fake.state.intercept = ({ key, answer }) => {
        if (key === API.alterConfigs) altered++
        return key === API.describeConfigs
          ? answer()
              .int32(0)
              .array([], () => undefined)
          : undefined
      }
      const changes = [{ topic: 'a', configs: { 'retention.ms': '5' } }]
      await assert.rejects(alterTopicConfigs(await fake.open(), changes, {}, never), {
        code: 'KAFKA_PROTOCOL',
        message: 'the broker did not say which settings topic a has',
      })
      assert.equal(altered, 0)
    },
    [fakeTopic('a', [[]], { configs: { 'cleanup.policy': 'compact' } })],
  ))
