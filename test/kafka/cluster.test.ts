import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Cluster, type ClusterOptions } from '../../src/kafka/cluster.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { API, type FakeBroker, startFakeBroker } from '../fakes/fake-broker.ts'
import { encodeMetadata, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { JumpingClock } from '../fakes/jumping-clock.ts'

const never = new AbortController().signal
const fixed = { clientId: 'test client', softwareVersion: '1.2.3', requestTimeoutMs: 1000, clock: new JumpingClock() }
const turn = () => new Promise(resolve => setImmediate(resolve))

/** A port where nothing listens any more. */
async function refusedAddress(): Promise<string> {
  const broker = await startFakeBroker({})
  await broker.close()
  return broker.address
}

const answersAlone = (brokers: () => FakeBroker[]) => ({
  [API.metadata]: () => encodeMetadata({ clusterId: 'c', topics: [] }, brokers(), []),
})

async function withCluster(
  options: Omit<ClusterOptions, keyof typeof fixed> & Partial<ClusterOptions>,
  work: (cluster: Cluster) => Promise<void>,
) {
  const cluster = await Cluster.open({ ...fixed, ...options }, never)
  try {
    await work(cluster)
  } finally {
    cluster.close()
  }
}

describe('opening a cluster', () => {
  test('tries the bootstrap servers in turn until one answers', async () => {
    const good: FakeBroker = await startFakeBroker(answersAlone(() => [good]))
    const mute = await startFakeBroker({ [API.apiVersions]: () => 'hang-up' })
    try {
      const bootstrapServers = [await refusedAddress(), mute.address, good.address]
      await withCluster({ bootstrapServers }, async cluster => {
        assert.equal((await cluster.metadata({ topics: [] }, never)).clusterId, 'c')
      })
      assert.equal(good.requests[0]?.clientId, 'test client')
    } finally {
      await Promise.all([good.close(), mute.close()])
    }
  })

  test('fails soon, with the first error, where none answers', async () => {
    const clock = new JumpingClock()
    const retried: unknown[] = []
    const bootstrapServers = [await refusedAddress(), await refusedAddress()]
    const opening = Cluster.open(
      { ...fixed, clock, bootstrapServers, onRetry: (_, delayMs) => retried.push(delayMs) },
      never,
    )
    await assert.rejects(opening, { code: 'KAFKA_UNREACHABLE', message: new RegExp(bootstrapServers[0] ?? '') })
    assert.equal(clock.slept.length, 2)
    assert.deepEqual(retried, clock.slept)
  })

  test('passes a silent server over after the time it has', async () => {
    const good: FakeBroker = await startFakeBroker(answersAlone(() => [good]))
    const silent = await startFakeBroker({ [API.apiVersions]: () => 'silence' })
    try {
      const options = { bootstrapServers: [silent.address, good.address], clock: systemClock, requestTimeoutMs: 40 }
      await withCluster(options, async () => assert.equal(good.requests.length, 2))
    } finally {
      await Promise.all([good.close(), silent.close()])
    }
  })

  test('refuses what is no broker, a broker too old, and what speaks no version of ours', async () => {
    const versions: [(writer: Writer) => Writer, string, RegExp][] = [
      [
        writer => writer.int16(35),
        'KAFKA_UNSUPPORTED',
        /the versions it speaks: the broker answered UNSUPPORTED_VERSION/,
      ],
      [
        writer => writer.int16(0).uvarint(1),
        'KAFKA_UNSUPPORTED',
        /does not speak Metadata v4 to v12; it speaks no version/,
      ],
      [
        writer => writer.int16(0).uvarint(2).int16(3).int16(0).int16(3).noTags(),
        'KAFKA_UNSUPPORTED',
        /versions 0 to 3/,
      ],
      [
        writer => writer.int16(0).uvarint(2).int16(62).int16(0).int16(4).noTags(),
        'KAFKA_UNSUPPORTED',
        /is a controller listener of KRaft/,
      ],
      [writer => writer.int16(0).uvarint(9), 'KAFKA_PROTOCOL', /cannot be read/],
    ]
    for (const [encode, code, message] of versions) {
      const broker = await startFakeBroker({ [API.apiVersions]: () => encode(new Writer()) })
      try {
        await assert.rejects(Cluster.open({ ...fixed, bootstrapServers: [broker.address] }, never), { code, message })
        for (let i = 0; broker.openConnections > 0 && i < 1000; i++) await turn()
        assert.equal(broker.openConnections, 0, 'nothing is left open')
      } finally {
        await broker.close()
      }
    }
  })

  test('stops with the reason of its signal', async () => {
    const reason = new Error('stopped')
    const silent = await startFakeBroker({ [API.apiVersions]: () => 'silence' })
    const controller = new AbortController()
    try {
      const opening = Cluster.open({ ...fixed, bootstrapServers: [silent.address] }, controller.signal)
      for (let i = 0; silent.requests.length === 0 && i < 1000; i++) await turn()
      controller.abort(reason)
      await assert.rejects(opening, error => error === reason)
    } finally {
      await silent.close()
    }
  })
})

describe('a cluster', () => {
  test('is asked again while it elects and loads, and after connections were lost', async () => {
    const fake = await startFakeCluster([fakeTopic('a', [[]])])
    try {
      const cluster = await fake.open()
      let drops = 3
      fake.state.intercept = () => (drops-- > 0 ? 'hang-up' : undefined)
      assert.equal((await cluster.metadata({ topics: ['a'] }, never)).topics[0]?.name, 'a')
      assert.ok(fake.clock.slept.length > 0)
    } finally {
      await fake.close()
    }
  })

  test('answers from any broker it knows when the bootstrap server is gone', async () => {
    const fake = await startFakeCluster([fakeTopic('a', [[]])], 2)
    try {
      const bootstrapServers = [fake.brokers[0]?.address ?? '']
      const cluster = await fake.open({ bootstrapServers })
      await fake.brokers[0]?.close()
      assert.equal((await cluster.metadata({ topics: ['a'] }, never)).topics.length, 1)
      assert.ok((fake.brokers[1]?.requests.length ?? 0) > 0)
    } finally {
      await fake.brokers[1]?.close()
    }
  })

  test('does not retry what is final', async () => {
    const fake = await startFakeCluster([])
    try {
      const cluster = await fake.open()
      fake.state.intercept = () => Buffer.from('00', 'hex')
      await assert.rejects(cluster.metadata({ topics: [] }, never), { code: 'KAFKA_PROTOCOL' })
      assert.deepEqual(fake.clock.slept, [])
    } finally {
      await fake.close()
    }
  })

  test('keeps one connection a broker, however many ask at once, and closes them all', async () => {
    const fake = await startFakeCluster([fakeTopic('a', [[]])])
    const [broker] = fake.brokers
    assert.ok(broker)
    try {
      const cluster = await fake.open()
      const askTenTimes = () =>
        Promise.all(Array.from({ length: 10 }, () => cluster.metadata({ topics: ['a'] }, never)))
      await askTenTimes()
      assert.equal(broker.acceptedConnections, 1)
      broker.dropConnections()
      const link = await cluster.link(0, never)
      for (let i = 0; link.isOpen && i < 1000; i++) await turn()
      await askTenTimes()
      assert.equal(broker.openConnections, 1)
      cluster.close()
      for (let i = 0; broker.openConnections > 0 && i < 1000; i++) await turn()
      assert.equal(broker.openConnections, 0, 'a connection that stays open keeps the process alive')
    } finally {
      await fake.close()
    }
  })

  test('knows a broker only once the metadata named it', async () => {
    const fake = await startFakeCluster([])
    try {
      const cluster = await fake.open()
      await assert.rejects(async () => cluster.link(7, never), { code: 'KAFKA_NOT_READY', message: /broker 7/ })
      const link = await cluster.link(0, never)
      assert.equal(link.name, fake.brokers[0]?.address)
      assert.equal(await cluster.link(0, never), link)
      const own = await cluster.openLink(0, never)
      assert.notEqual(own, link)
      own.close()
    } finally {
      await fake.close()
    }
  })

  test('tells the settings that were put on a topic, in requests of at most 500 topics', async () => {
    const topics = Array.from({ length: 1001 }, (_, i) =>
      fakeTopic(`t${i}`, [], { configs: i === 700 ? { k: 'v' } : {} }),
    )
    const fake = await startFakeCluster(topics)
    try {
      const cluster = await fake.open()
      const configs = await cluster.topicConfigs(
        topics.map(({ name }) => name),
        never,
      )
      assert.equal(configs.size, 1001)
      assert.deepEqual(configs.get('t700'), { k: 'v' })
      assert.equal(fake.brokers[0]?.requests.filter(({ key }) => key === API.describeConfigs).length, 3)
    } finally {
      await fake.close()
    }
  })

  test('fails where a topic may not be described', async () => {
    const fake = await startFakeCluster([])
    try {
      const cluster = await fake.open()
      fake.state.intercept = () => {
        const writer = new Writer().int32(0)
        return writer
          .array(['a'], name => writer.int16(29).string(null).int8(2).string(name).uvarint(1).noTags())
          .noTags()
      }
      await assert.rejects(cluster.topicConfigs(['a'], never), {
        code: 'KAFKA_DENIED',
        message: /configuration of topic a/,
      })
    } finally {
      await fake.close()
    }
  })
})

test('an answer to another request is refused', async () => {
  const broker = await startFakeBroker({
    [API.apiVersions]: request => {
      request.correlationId += 5
      return new Writer().int16(0).uvarint(1).int32(0).noTags()
    },
  })
  try {
    const opening = Cluster.open({ ...fixed, bootstrapServers: [broker.address] }, never)
    await assert.rejects(opening, { code: 'KAFKA_PROTOCOL', message: /answered request 5, not 0/ })
  } finally {
    await broker.close()
  }
})
