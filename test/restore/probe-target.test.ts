import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Writer } from '../../src/kafka/wire/writer.ts'
import type { Outgoing } from '../../src/restore/outgoing-batch.ts'
import type { PlannedTopic } from '../../src/restore/plan.ts'
import { probeTarget } from '../../src/restore/probe-target.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { type FakeTopic, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { withFakeTarget } from './fake-target.ts'

const { signal } = new AbortController()
const like = { name: 'orders', partitions: 1, replicationFactor: 1, whileFilling: {} } as unknown as PlannedTopic
const batch = {
  bytes: encodeRun(0n, 1),
  recordCount: 1,
  runs: [{ sourceOffset: 0n, count: 1 }],
  sourcePartition: 0,
} as unknown as Outgoing
const stream = {
  batches: [batch],
  open: async function* () {
    yield batch
  },
}

test('a probe whose topic may have been created without an answer asks to delete it, and names it', async () => {
  const fake = await startFakeCluster([])
  const deletions: number[] = []
  fake.state.intercept = request => {
    if (request.key === API.createTopics) return 'hang-up'
    if (request.key !== API.deleteTopics) return undefined
    deletions.push(request.nth)
    return noSuchTopic()
  }
  const removed: [string, string | undefined][] = []
  try {
    const cluster = await fake.open()
    const parts = {
      ...{ cluster, clock: fake.clock, connectionsPerBroker: 1, requestTimeoutMs: 1000, onBegin: () => undefined },
      onRemoved: (name: string, left: string | undefined) => void removed.push([name, left]),
    }
    await assert.rejects(probeTarget(like, [stream], parts, { maxBytes: 1, maxMs: 1 }, signal), { code: /^KAFKA_/ })
  } finally {
    await fake.close()
  }
  assert.equal(deletions.length, 2, 'one to see whether topics can be deleted, one for the topic')
  const [[name = '', left = ''] = []] = removed
  assert.match(name, /^__kafka-backup\.probe\.[0-9a-f]{16}$/)
  assert.match(left, new RegExp(`did not answer whether it created topic ${name}\\. .*; delete it if it exists$`))
})

test('a probe writes no more than its limit and a batch for each of its two parts, also where no time passes', () =>
  withFakeTarget([fakeTopic('orders', [[encodeRun(0n, 1)]])], async ({ fake }) => {
    const limits = { maxBytes: 40 * batch.bytes.length, maxMs: 3_600_000 }
    let writes = 0
    const intercept = fake.state.intercept
    fake.state.intercept = (request, brokerId) => {
      if (request.key === API.deleteTopics) return noSuchTopic()
      if (request.key === API.produce && ++writes > 100) return 'hang-up'
      if (request.key !== API.createTopics) return intercept(request, brokerId)
      const topic = fakeTopic(request.body.array(() => request.body.string())[0] ?? '', [[], []])
      fake.state.topics.push(topic)
      return createdTopic(topic)
    }
    const cluster = await fake.open()
    const parts = {
      ...{ cluster, clock: fake.clock, connectionsPerBroker: 1, requestTimeoutMs: 1000 },
      ...{ onBegin: () => undefined, onRemoved: () => undefined },
    }
    await probeTarget(like, [stream], parts, limits, signal)
    assert.ok(writes > 20 && writes <= 42, `${writes} batches`)
  }))

/** CreateTopics v7. */
function createdTopic({ name, id }: FakeTopic): Writer {
  const writer = new Writer().int32(0)
  const one = () => writer.string(name).uuid(id).int16(0).string(null).int32(-1).int16(-1)
  return writer
    .array([0], () =>
      one()
        .array([], () => undefined)
        .noTags(),
    )
    .noTags()
}

/** DeleteTopics v6. */
function noSuchTopic(): Writer {
  const writer = new Writer().int32(0)
  writer.array(['topic'], name => writer.string(name).uuid('0'.repeat(32)).int16(3).string(null).noTags())
  return writer.noTags()
}
