import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Writer } from '../../src/kafka/wire/writer.ts'
import type { Outgoing } from '../../src/restore/outgoing-batch.ts'
import type { PlannedTopic } from '../../src/restore/plan.ts'
import { probeTarget } from '../../src/restore/probe-target.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API } from '../fakes/fake-broker.ts'
import { startFakeCluster } from '../fakes/fake-cluster.ts'

const { signal } = new AbortController()
const like = { name: 'orders', partitions: 1, replicationFactor: 1, whileFilling: {} } as unknown as PlannedTopic
const batch = { bytes: encodeRun(0n, 1), recordCount: 1, runs: [], sourcePartition: 0 } as unknown as Outgoing
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
    // DeleteTopics v6: there is no such topic.
    const writer = new Writer().int32(0)
    writer.array(['topic'], name => writer.string(name).uuid('0'.repeat(32)).int16(3).string(null).noTags())
    return writer.noTags()
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
