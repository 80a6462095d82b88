import { Writer } from '../../src/kafka/wire/writer.ts'
import { API, type BrokerAnswer, type BrokerRequest } from './fake-broker.ts'
import type { FakeCluster } from './fake-cluster.ts'

export interface FakeGroup {
  type: 'Classic' | 'Consumer' | 'Share' | 'Streams'
  members: number
  /** By `topic/partition`. */
  offsets: Map<string, { offset: bigint; metadata: string; epoch: number }>
  /** Of `offsets`, or others: those with a newer offset in an open transaction. */
  undecided: readonly string[]
  /** What a coordinator answers when the group is read, or committed for. */
  readError: number
  commitError: number
  /** And when its state is asked for. */
  describeError: number
}

export interface FakeGroups {
  all: Map<string, FakeGroup>
  /** Operations on the cluster itself, as bits; all by default. */
  clusterBits: number
  /** Called at the first byte of each commit; what it returns is the answer. */
  onCommit: (group: string) => BrokerAnswer | undefined
}

export function fakeGroup(offsets: Record<string, bigint> = {}, changes: Partial<FakeGroup> = {}): FakeGroup {
  const entries = Object.entries(offsets).map(([key, offset]) => [key, { offset, metadata: '', epoch: 0 }] as const)
  const errors = { readError: 0, commitError: 0, describeError: 0 }
  return { type: 'Classic', members: 0, undecided: [], offsets: new Map(entries), ...errors, ...changes }
}

/** Lets broker 0 coordinate these groups, and such as are committed for. */
export function serveGroups(fake: FakeCluster, all: Record<string, FakeGroup> = {}): FakeGroups {
  const groups: FakeGroups = { all: new Map(Object.entries(all)), clusterBits: -1 & 0xffff, onCommit: () => undefined }
  const { intercept } = fake.state
  fake.state.intercept = (request, brokerId) => {
    const answer = answers.get(request.key)
    return answer ? answer(request, groups, brokerId) : intercept(request, brokerId)
  }
  return groups
}

type Answer = (request: BrokerRequest, groups: FakeGroups, brokerId: number) => BrokerAnswer
const nothing = () => undefined

const answers = new Map<number, Answer>([
  [API.findCoordinator, findCoordinator],
  [API.listGroups, listGroups],
  [API.consumerGroupDescribe, describeConsumers],
  [API.describeGroups, describeClassic],
  [API.offsetFetch, fetchOffsets],
  [API.offsetCommit, commitOffsets],
  [API.describeCluster, describeCluster],
])

function findCoordinator({ body }: BrokerRequest): Writer {
  body.int8()
  const names = body.array(() => body.string())
  const writer = new Writer().int32(0)
  const one = (name: string) => writer.string(name).int32(0).string('h').int32(1).int16(0).string(null).noTags()
  return writer.array(names, one).noTags()
}

function listGroups(_: BrokerRequest, { all }: FakeGroups, brokerId: number): Writer {
  const writer = new Writer().int32(0).int16(0)
  const one = ([name, { type, members }]: [string, FakeGroup]) =>
    writer.string(name).string('').string(stateOf(members)).string(type).noTags()
  return writer.array(brokerId === 0 ? [...all] : [], one).noTags()
}

function describeConsumers({ body }: BrokerRequest, { all }: FakeGroups): Writer {
  const names = body.array(() => body.string())
  const writer = new Writer().int32(0)
  const member = () => {
    writer.string('m').string(null).string(null).int32(0).string('').string('').array([], nothing).string(null)
    for (let i = 0; i < 2; i++) writer.array([], nothing).noTags()
    writer.noTags()
  }
  const one = (name: string) => {
    const group = all.get(name)
    const isOurs = group?.type === 'Consumer'
    writer
      .int16(isOurs ? 0 : 69)
      .string(null)
      .string(name)
      .string(isOurs ? stateOf(group.members) : '')
    writer.int32(0).int32(0).string('')
    writer.array(Array.from({ length: isOurs ? group.members : 0 }), member)
    writer.int32(0).noTags()
  }
  return writer.array(names, one).noTags()
}

function describeClassic({ body }: BrokerRequest, { all }: FakeGroups): Writer {
  const names = body.array(() => body.string())
  const writer = new Writer().int32(0)
  const member = () => writer.string('m').string(null).string('').string('').uvarint(1).uvarint(1).noTags()
  const one = (name: string) => {
    const group = all.get(name)
    const members = group?.type === 'Classic' ? group.members : 0
    writer
      .int16(group?.describeError ?? 0)
      .string(name)
      .string(group?.type === 'Classic' ? stateOf(members) : 'Dead')
      .string('')
      .string('')
    writer.array(Array.from({ length: members }), member)
    writer.int32(-2147483648).noTags()
  }
  return writer.array(names, one).noTags()
}

const UNSTABLE_OFFSET_COMMIT = 88

function fetchOffsets({ body }: BrokerRequest, { all }: FakeGroups): Writer {
  const asked = body.array(() => {
    const name = body.string()
    // Null, which is read as none, asks for all.
    const wanted = body.array(() => {
      const topic = body.string()
      const partitions = body.array(() => body.int32())
      body.tags()
      return partitions.map(partition => `${topic}/${partition}`)
    })
    body.tags()
    return { name, wanted: wanted.flat() }
  })
  const requireStable = body.boolean()
  const writer = new Writer().int32(0)
  const one = ({ name, wanted }: (typeof asked)[number]) => {
    const { offsets, undecided, readError } = all.get(name) ?? fakeGroup()
    const isOpen = (key: string) => requireStable && undecided.includes(key)
    const found = [...new Set([...offsets.keys(), ...(requireStable ? undecided : [])])]
    const keys = found.filter(key => wanted.length === 0 || wanted.includes(key))
    const topics = Map.groupBy(readError === 0 ? keys : [], key => key.slice(0, key.lastIndexOf('/')))
    writer.string(name).array([...topics], ([topic, some]) => {
      writer.string(topic).array(some, key => {
        const found = isOpen(key) ? undefined : offsets.get(key)
        const { offset = -1n, epoch = -1, metadata = '' } = found ?? {}
        const errorCode = isOpen(key) ? UNSTABLE_OFFSET_COMMIT : 0
        writer.int32(numberOf(key)).int64(offset).int32(epoch).string(metadata).int16(errorCode).noTags()
      })
      writer.noTags()
    })
    writer.int16(readError).noTags()
  }
  return writer.array(asked, one).noTags()
}

function commitOffsets({ body }: BrokerRequest, groups: FakeGroups): BrokerAnswer {
  const name = body.string()
  const scripted = groups.onCommit(name)
  if (scripted) return scripted
  body.int32()
  body.string()
  body.nullableString()
  const group = groups.all.get(name) ?? fakeGroup()
  const errorCode = group.members > 0 ? 25 : group.commitError
  const topics = body.array(() => {
    const topic = body.string()
    const partitions = body.array(() => {
      const partition = body.int32()
      const position = { offset: body.int64(), epoch: body.int32(), metadata: body.string() }
      body.tags()
      if (errorCode === 0) group.offsets.set(`${topic}/${partition}`, position)
      return partition
    })
    body.tags()
    return { topic, partitions }
  })
  if (errorCode === 0) groups.all.set(name, group)
  const writer = new Writer().int32(0)
  const row = (partition: number) => writer.int32(partition).int16(errorCode).noTags()
  return writer.array(topics, ({ topic, partitions }) => writer.string(topic).array(partitions, row).noTags()).noTags()
}

function describeCluster(_: BrokerRequest, { clusterBits }: FakeGroups): Writer {
  return new Writer().int32(0).int16(0).string(null).string('c').int32(0).array([], nothing).int32(clusterBits).noTags()
}

function stateOf(members: number): string {
  return members > 0 ? 'Stable' : 'Empty'
}

function numberOf(key: string): number {
  return Number(key.slice(key.lastIndexOf('/') + 1))
}
