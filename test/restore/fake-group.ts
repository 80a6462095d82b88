import assert from 'node:assert/strict'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { API, type BrokerRequest } from '../fakes/fake-broker.ts'
import type { FakeCluster } from '../fakes/fake-cluster.ts'

export interface Committed {
  topic: string
  partition: number
  offset: bigint
  metadata: string
}

/** Lets a broker keep what the group of the restore `r1` commits, besides what it does already. */
export function keepNotes(fake: FakeCluster): Committed[] {
  const committed: Committed[] = []
  const { intercept } = fake.state
  fake.state.intercept = (request, brokerId) => {
    if (request.key === API.findCoordinator) return encodeCoordinator()
    if (request.key === API.offsetCommit) return commit(request, committed)
    return request.key === API.offsetFetch ? encodeCommitted(request, committed) : intercept(request, brokerId)
  }
  return committed
}

function encodeCoordinator(): Writer {
  const writer = new Writer().int32(0)
  return writer
    .array([0], () => writer.string('g').int32(0).string('h').int32(1).int16(0).string(null).noTags())
    .noTags()
}

function commit({ body }: BrokerRequest, committed: Committed[]): Writer {
  assert.equal(body.string(), '__kafka-backup.restore.r1')
  body.int32()
  body.string()
  body.nullableString()
  const topics = body.array(() => {
    const topic = body.string()
    const partitions = body.array(() => {
      const one = { topic, partition: body.int32(), offset: body.int64(), epoch: body.int32(), metadata: body.string() }
      body.tags()
      replace(committed, one)
      return one.partition
    })
    body.tags()
    return { topic, partitions }
  })
  const writer = new Writer().int32(0)
  return writer
    .array(topics, ({ topic, partitions }) =>
      writer
        .string(topic)
        .array(partitions, partition => writer.int32(partition).int16(0).noTags())
        .noTags(),
    )
    .noTags()
}

function encodeCommitted({ body }: BrokerRequest, committed: readonly Committed[]): Writer {
  const [group = ''] = body.array(() => body.string())
  const writer = new Writer().int32(0)
  const topics = [...Map.groupBy(committed, one => one.topic)]
  return writer
    .array([group], () => {
      writer.string(group).array(topics, ([topic, each]) => {
        writer.string(topic).array(each, ({ partition, offset, metadata }) => {
          writer.int32(partition).int64(offset).int32(-1).string(metadata).int16(0).noTags()
        })
        writer.noTags()
      })
      writer.int16(0).noTags()
    })
    .noTags()
}

function replace(committed: Committed[], one: Committed): void {
  const at = committed.findIndex(({ topic, partition }) => topic === one.topic && partition === one.partition)
  if (at < 0) committed.push(one)
  else committed[at] = one
}
