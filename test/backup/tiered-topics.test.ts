import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { emptyPartition } from '../../src/archive/summary.ts'
import { CopyScheduler } from '../../src/backup/copy-scheduler.ts'
import { PartitionCopy } from '../../src/backup/partition-copy.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API, type BrokerRequest } from '../fakes/fake-broker.ts'
import { type FakeCluster, type FakeTopic, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const never = new AbortController().signal
const runs = () => Array.from({ length: 3 }, (_, i) => encodeRun(BigInt(i) * 10n, 10))
const TIERED = { configs: { 'remote.storage.enable': 'true' } }

interface Stage {
  fake: FakeCluster
  events: ProgressEvent[]
  /** By `topic/partition`. */
  copies: Map<string, PartitionCopy>
  run(): Promise<void>
}

/** One connection for a broker and kind of read, and one buffer for each of them. */
async function withStage(topics: FakeTopic[], work: (stage: Stage) => Promise<void>): Promise<void> {
  const fake = await startFakeCluster(topics)
  const events: ProgressEvent[] = []
  try {
    const cluster = await fake.open()
    const sizes = { buffers: 1, remoteBuffers: 1, bufferBytes: 1 << 20, fetchBytes: 1 << 20 }
    const lanes = { lanesPerBroker: 1, maxActive: 128, ...sizes }
    const scheduler = new CopyScheduler({ cluster, lanes, rack: '', onProgress: event => events.push(event) })
    const options = { compression: 'none', segmentBytes: 1 << 20 } as const
    const parts = { storage: openMemoryStorage(), run: 'run1', storeSignal: never, options, now: () => 0 }
    const all = topics.flatMap(topic =>
      topic.partitions.map(({ lastStable: end, logStart }, partition) => {
        const planned = { durable: emptyPartition(partition, logStart), end, logStart }
        return new PartitionCopy(topic, planned, 'b1', parts)
      }),
    )
    const copies = new Map(all.map(copy => [copy.name, copy]))
    await work({ fake, events, copies, run: () => scheduler.run(all, never) })
  } finally {
    await fake.close()
  }
}

/** The IDs of the topics that a Fetch asks for, and how long the broker may wait. */
function readFetch({ body }: BrokerRequest): { waitMs: number; ids: string[] } {
  const { position } = body
  body.int32()
  const waitMs = body.int32()
  body.position += 17
  const ids = body.array(() => {
    const id = body.uuid()
    body.array(() => {
      body.position += 32
      body.tags()
    })
    body.tags()
    return id
  })
  body.position = position
  return { waitMs, ids }
}

describe('partitions of tiered topics', () => {
  test('hold up no other topic while the broker waits for remote storage', { timeout: 30_000 }, () => {
    const old = fakeTopic('old', [], { ...TIERED, partitions: [fakePartition(runs(), { localStart: 20n })] })
    const recent = fakeTopic('recent', [], { ...TIERED, partitions: [fakePartition(runs(), { localStart: 0n })] })
    return withStage([old, recent, fakeTopic('plain', [runs()])], async ({ fake, copies, run }) => {
      const others = Promise.withResolvers<undefined>()
      const waits: number[] = []
      fake.state.intercept = async request => {
        if (request.key !== API.fetch) return undefined
        const { ids, waitMs } = readFetch(request)
        if (!ids.includes(old.id)) {
          // The answer that brings all is on its way.
          setImmediate(() => others.resolve(undefined))
          return undefined
        }
        waits.push(waitMs)
        assert.deepEqual(ids, [old.id], 'over a connection that serves nothing else')
        await others.promise
        return undefined
      }
      await run()
      assert.deepEqual(
        [...copies].map(([name, { position }]) => [name, position]),
        [
          ['old/0', 30n],
          ['recent/0', 30n],
          ['plain/0', 30n],
        ],
      )
      assert.ok(waits.length > 0 && waits.every(waitMs => waitMs >= 1000), 'Kafka 3.6 reads no longer than it may wait')
    })
  })

  test('are never counted as lost while remote storage returns nothing, however long that takes', () => {
    let answers = 0
    const slow = fakePartition(runs(), { localStart: 20n, isRemoteReady: () => ++answers > 30 })
    return withStage([fakeTopic('old', [], { ...TIERED, partitions: [slow] })], async ({ events, copies, run }) => {
      await run()
      const copy = copies.get('old/0')
      assert.deepEqual([copy?.position, copy?.durable.gaps], [30n, []])
      assert.ok(events.some(event => event.type === 'retry' && /remote storage of the broker/.test(event.what)))
    })
  })

  test('end in an error that names them, and not in a gap, when remote storage stays away; the others are complete', () => {
    const lost = fakePartition(runs(), { localStart: 20n, isRemoteReady: () => false })
    const topics = [fakeTopic('old', [], { ...TIERED, partitions: [lost] }), fakeTopic('plain', [runs()])]
    return withStage(topics, async ({ events, copies, run }) => {
      await assert.rejects(run(), { code: 'KAFKA_NOT_READY', message: /^old\/0: .* remote storage/ })
      assert.deepEqual([copies.get('old/0')?.isDone, copies.get('plain/0')?.isDone], [false, true])
      assert.equal(events.filter(({ type }) => type === 'gap').length, 0)
    })
  })

  test('take turns: one that waits does not keep the broker from the next, where it reads one of a request from remote storage', () => {
    const partitions = ['waits', 'ready'].map(() => fakePartition(runs(), { localStart: 30n }))
    const topics = partitions.map((one, i) => fakeTopic(`old${i}`, [], { ...TIERED, partitions: [one] }))
    return withStage(topics, async ({ fake, copies, run }) => {
      let firstId = ''
      fake.state.intercept = request => {
        if (request.key === API.fetch) firstId = readFetch(request).ids[0] ?? ''
        return undefined
      }
      const [waits, ready] = partitions
      if (waits) waits.isRemoteReady = () => copies.get('old1/0')?.isDone ?? false
      if (ready) ready.isRemoteReady = () => firstId === topics[1]?.id
      await run()
      assert.deepEqual(
        [...copies.values()].map(({ position }) => position),
        [30n, 30n],
      )
    })
  })
})
