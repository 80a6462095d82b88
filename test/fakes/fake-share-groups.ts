import { Writer } from '../../src/kafka/wire/writer.ts'
import { type BrokerRequest, SHARE_API } from './fake-broker.ts'
import type { FakeCluster } from './fake-cluster.ts'
import { type FakeGroup, type FakeGroups, fakeGroup } from './fake-groups.ts'

const nothing = () => undefined
const NO_ID = '0'.repeat(32)
const GROUP_ID_NOT_FOUND = 69
const NON_EMPTY_GROUP = 68

/** Lets the brokers answer for the share groups among these as Kafka 4.1 does; a start offset of -1 is none. */
export function serveShareGroups(fake: FakeCluster, groups: FakeGroups, errors: { describe?: number } = {}): void {
  fake.state.hasShareGroups = true
  const { intercept } = fake.state
  fake.state.intercept = (request, brokerId) => {
    if (request.key === SHARE_API.shareGroupDescribe) return describe(request, groups)
    if (request.key === SHARE_API.describeShareGroupOffsets) return readOffsets(request, groups, errors.describe ?? 0)
    if (request.key === SHARE_API.alterShareGroupOffsets) return alterOffsets(request, groups)
    return intercept(request, brokerId)
  }
}

function describe({ body }: BrokerRequest, { all }: FakeGroups): Writer {
  const names = body.array(() => body.string())
  const writer = new Writer().int32(0)
  const member = () => {
    writer.string('m').string(null).int32(0).string('').string('').array([], nothing)
    writer.array([], nothing).noTags().noTags()
  }
  return writer
    .array(names, name => {
      const group = all.get(name)
      const members = group?.type === 'Share' ? group.members : 0
      writer
        .int16(group?.type === 'Share' ? 0 : GROUP_ID_NOT_FOUND)
        .string(null)
        .string(name)
      writer
        .string(members > 0 ? 'Stable' : 'Empty')
        .int32(0)
        .int32(0)
        .string('')
      writer.array(Array.from({ length: members }), member)
      writer.int32(0).noTags()
    })
    .noTags()
}

function readOffsets({ body }: BrokerRequest, { all }: FakeGroups, errorCode: number): Writer {
  const names = body.array(() => {
    const name = body.string()
    body.uvarint()
    body.tags()
    return name
  })
  const writer = new Writer().int32(0)
  return writer
    .array(names, name => {
      const topics = errorCode === 0 ? byTopic(all.get(name)) : []
      writer.string(name).array(topics, ([topic, rows]) => {
        writer.string(topic).uuid(NO_ID)
        writer.array(rows, ({ partition, offset }) =>
          writer.int32(partition).int64(offset).int32(0).int16(0).string(null).noTags(),
        )
        writer.noTags()
      })
      writer.int16(errorCode).string(null).noTags()
    })
    .noTags()
}

function byTopic(group: FakeGroup | undefined): [string, { partition: number; offset: bigint }[]][] {
  const rows = [...(group?.type === 'Share' ? group.offsets : [])].map(([key, { offset }]) => {
    const at = key.lastIndexOf('/')
    return { topic: key.slice(0, at), partition: Number(key.slice(at + 1)), offset }
  })
  return [...Map.groupBy(rows, ({ topic }) => topic)]
}

function alterOffsets({ body }: BrokerRequest, { all }: FakeGroups): Writer {
  const name = body.string()
  const group = all.get(name) ?? fakeGroup({}, { type: 'Share' })
  const errorCode = group.members > 0 ? NON_EMPTY_GROUP : 0
  const topics = body.array(() => {
    const topic = body.string()
    const partitions = body.array(() => {
      const one = { partition: body.int32(), offset: body.int64() }
      body.tags()
      if (errorCode === 0 && group.commitError === 0) {
        group.offsets.set(`${topic}/${one.partition}`, { offset: one.offset, metadata: '', epoch: 0 })
      }
      return one
    })
    body.tags()
    return { topic, partitions }
  })
  if (errorCode === 0) all.set(name, group)
  const writer = new Writer().int32(0).int16(errorCode).string(null)
  return writer
    .array(errorCode === 0 ? topics : [], ({ topic, partitions }) => {
      writer.string(topic).uuid(NO_ID)
      writer.array(partitions, ({ partition }) =>
        writer.int32(partition).int16(group.commitError).string(null).noTags(),
      )
      writer.noTags()
    })
    .noTags()
}
