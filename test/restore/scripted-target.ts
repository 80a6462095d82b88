import { walkBatches } from '../../src/batch/walk.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { API, type BrokerAnswer, type BrokerRequest } from '../fakes/fake-broker.ts'
import { type FakeCluster, fakePartition, fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'

/** What happens to the nth produce request: it is stored and answered where nothing is said. */
export type Fate = 'stored' | 'answer-lost' | 'batch-lost' | { errorCode: number; isStored?: boolean } | (() => void)

export interface ScriptedTarget {
  fake: FakeCluster
  /** How many batches each produce request held. */
  requests: number[]
  /** Appends a batch of somebody else. */
  append(batch: Buffer, partition?: number): void
  /** Base sequence and count of records of each batch of the log. */
  log(partition?: number): [number, number][]
}

/** One broker with the topic `orders`. */
export async function withTarget(
  fates: (nth: number) => Fate | undefined,
  work: (target: ScriptedTarget) => Promise<void>,
  partitions = 1,
): Promise<void> {
  const topic = fakeTopic(
    'orders',
    Array.from({ length: partitions }, () => []),
  )
  const fake = await startFakeCluster([topic])
  const requests: number[] = []
  const append = (batch: Buffer, partition = 0) => {
    const at = topic.partitions[partition]?.highWatermark ?? 0n
    const copy = Buffer.from(batch)
    copy.writeBigInt64BE(at, 0)
    topic.partitions[partition] = fakePartition([...(topic.partitions[partition]?.batches ?? []), copy])
    return at
  }
  fake.state.intercept = request => {
    if (request.key === API.initProducerId) return new Writer().int32(0).int16(0).int64(4711n).int16(0).noTags()
    if (request.key !== API.produce) return undefined
    const batches = decodeProduce(request)
    requests.push(batches.length)
    return answerProduce(batches, fates(request.nth) ?? 'stored', append)
  }
  const log = (partition = 0) =>
    (topic.partitions[partition]?.batches ?? []).map(
      batch => [batch.readInt32BE(53), batch.readInt32BE(57)] satisfies [number, number],
    )
  try {
    await work({ fake, requests, append, log })
  } finally {
    await fake.close()
  }
}

interface Sent {
  topic: string
  partition: number
  batch: Buffer
}

function answerProduce(sent: Sent[], fate: Fate, append: (batch: Buffer, partition: number) => bigint): BrokerAnswer {
  if (typeof fate === 'function') fate()
  if (fate === 'batch-lost') return 'hang-up'
  const errorCode = typeof fate === 'object' ? fate.errorCode : 0
  const isStored = typeof fate === 'object' ? (fate.isStored ?? false) : true
  const bases = sent.map(({ batch, partition }) => (isStored ? append(batch, partition) : -1n))
  if (fate === 'answer-lost') return 'hang-up'
  const writer = new Writer()
  writer.array([sent], each => {
    writer.string('orders').array([...each.entries()], ([i, { partition }]) => {
      writer
        .int32(partition)
        .int16(errorCode)
        .int64(errorCode === 0 ? (bases[i] ?? -1n) : -1n)
        .int64(-1n)
        .int64(0n)
      writer
        .array([], () => undefined)
        .string(null)
        .noTags()
    })
    writer.noTags()
  })
  return writer.int32(0).noTags()
}

function decodeProduce({ body }: BrokerRequest): Sent[] {
  body.nullableString()
  body.int16()
  body.int32()
  const topics = body.array(() => {
    const topic = body.string()
    const partitions = body.array(() => {
      const partition = body.int32()
      const { start, end } = body.bytesRange()
      body.tags()
      const batch = body.buffer.subarray(start, end)
      if (walkBatches(batch, 0, batch.length).length !== 1) throw new Error('a broker takes one batch a partition')
      return { topic, partition, batch }
    })
    body.tags()
    return partitions
  })
  return topics.flat()
}
