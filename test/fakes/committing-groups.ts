import { Writer } from '../../src/kafka/wire/writer.ts'
import { API, type BrokerRequest } from './fake-broker.ts'
import type { FakeCluster } from './fake-cluster.ts'

/** Groups that brokers of a fake cluster coordinate; a test may move them, and fail their commits, while it runs. */
export interface CommittingGroups {
  /** Offsets by group, then by `topic/partition`. */
  positions: Map<string, Map<string, bigint>>
  coordinatorOf: (group: string) => number
  /** The error code that a commit for the group is answered with; 0 to take it. */
  commitError: (group: string, brokerId: number) => number
}

const NOT_COORDINATOR = 16
const GROUP_ID_NOT_FOUND = 69

export function keepGroups(fake: FakeCluster): CommittingGroups {
  const groups: CommittingGroups = { positions: new Map(), coordinatorOf: () => 0, commitError: () => 0 }
  const answers: Record<number, (request: BrokerRequest, brokerId: number) => Writer> = {
    [API.findCoordinator]: request => encodeCoordinators(groups, request),
    [API.listGroups]: (_, brokerId) => encodeListed(groups, brokerId),
    [API.consumerGroupDescribe]: request => encodeModern(request),
    [API.describeGroups]: (request, brokerId) => encodeDescribed(groups, request, brokerId),
    [API.offsetFetch]: (request, brokerId) => encodeFetched(groups, request, brokerId),
    [API.offsetCommit]: (request, brokerId) => commit(groups, request, brokerId),
  }
  fake.state.intercept = (request, brokerId) => answers[request.key]?.(request, brokerId)
  return groups
}

function encodeCoordinators({ coordinatorOf }: CommittingGroups, { body }: BrokerRequest): Writer {
  body.int8()
  const names = body.array(() => body.string())
  const writer = new Writer().int32(0)
  const one = (name: string) => writer.string(name).int32(coordinatorOf(name)).string('h').int32(1)
  return writer.array(names, name => one(name).int16(0).string(null).noTags()).noTags()
}

function encodeListed({ positions, coordinatorOf }: CommittingGroups, brokerId: number): Writer {
  const own = [...positions.keys()].filter(group => coordinatorOf(group) === brokerId)
  const writer = new Writer().int32(0).int16(0)
  return writer.array(own, name => writer.string(name).string('').string('Empty').string('Classic').noTags()).noTags()
}

/** None is of the protocol of KIP-848. */
function encodeModern({ body }: BrokerRequest): Writer {
  const names = body.array(() => body.string())
  const writer = new Writer().int32(0)
  return writer
    .array(names, name => {
      writer.int16(GROUP_ID_NOT_FOUND).string(null).string(name).string('').int32(0).int32(0).string('')
      writer
        .array([], () => undefined)
        .int32(0)
        .noTags()
    })
    .noTags()
}

function encodeDescribed({ coordinatorOf }: CommittingGroups, { body }: BrokerRequest, brokerId: number): Writer {
  const names = body.array(() => body.string())
  const writer = new Writer().int32(0)
  return writer
    .array(names, name => {
      writer
        .int16(coordinatorOf(name) === brokerId ? 0 : NOT_COORDINATOR)
        .string(name)
        .string('Empty')
        .string('')
        .string('')
      writer
        .array([], () => undefined)
        .int32(0)
        .noTags()
    })
    .noTags()
}

function encodeFetched(
  { positions, coordinatorOf }: CommittingGroups,
  { body }: BrokerRequest,
  brokerId: number,
): Writer {
  const names = body.array(() => {
    const name = body.string()
    body.uvarint()
    body.tags()
    return name
  })
  const writer = new Writer().int32(0)
  return writer
    .array(names, name => {
      const rows = [...(positions.get(name) ?? [])].map(([key, offset]) => ({ ...parseKey(key), offset }))
      writer.string(name).array([...Map.groupBy(rows, row => row.topic)], ([topic, each]) => {
        writer.string(topic).array(each, ({ partition, offset }) => {
          writer.int32(partition).int64(offset).int32(-1).string('').int16(0).noTags()
        })
        writer.noTags()
      })
      writer.int16(coordinatorOf(name) === brokerId ? 0 : NOT_COORDINATOR).noTags()
    })
    .noTags()
}

function commit(groups: CommittingGroups, { body }: BrokerRequest, brokerId: number): Writer {
  const group = body.string()
  body.int32()
  body.string()
  body.nullableString()
  const topics = body.array(() => {
    const topic = body.string()
    const partitions = body.array(() => {
      const one = { partition: body.int32(), offset: body.int64(), epoch: body.int32(), metadata: body.string() }
      body.tags()
      return one
    })
    body.tags()
    return { topic, partitions }
  })
  const moved = groups.coordinatorOf(group) === brokerId ? 0 : NOT_COORDINATOR
  const errorCode = moved || groups.commitError(group, brokerId)
  const own = groups.positions.get(group) ?? new Map<string, bigint>()
  groups.positions.set(group, own)
  const writer = new Writer().int32(0)
  return writer
    .array(topics, ({ topic, partitions }) => {
      writer.string(topic).array(partitions, ({ partition, offset }) => {
        if (errorCode === 0) own.set(`${topic}/${partition}`, offset)
        writer.int32(partition).int16(errorCode).noTags()
      })
      writer.noTags()
    })
    .noTags()
}

function parseKey(key: string): { topic: string; partition: number } {
  const at = key.lastIndexOf('/')
  return { topic: key.slice(0, at), partition: Number(key.slice(at + 1)) }
}
