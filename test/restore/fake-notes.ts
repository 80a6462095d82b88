import type { Reader } from '../../src/kafka/wire/reader.ts'
import { Writer } from '../../src/kafka/wire/writer.ts'
import { API } from '../fakes/fake-broker.ts'

/** The offset and the metadata that a group has committed, by `topic/partition`. */
export type FakeNotes = Map<string, { offset: bigint; metadata: string }>

/** By group. */
export type FakeGroups = Map<string, FakeNotes>

/** The requests about groups that a restore makes, for a broker that coordinates all of them. */
export const groupHandlers: Record<number, (groups: FakeGroups, body: Reader, maxMetadataBytes: number) => Writer> = {
  [API.findCoordinator]: encodeCoordinators,
  [API.listGroups]: encodeGroups,
  [API.consumerGroupDescribe]: encodeModern,
  [API.describeGroups]: encodeDescribed,
  [API.offsetCommit]: commit,
  [API.offsetFetch]: encodeNotes,
}

function encodeCoordinators(_: FakeGroups, body: Reader): Writer {
  body.int8()
  const asked = body.array(() => body.string())
  const writer = new Writer().int32(0)
  const one = (group: string) => writer.string(group).int32(0).string('h').int32(1).int16(0).string(null).noTags()
  return writer.array(asked, one).noTags()
}

function encodeGroups(groups: FakeGroups): Writer {
  const writer = new Writer().int32(0).int16(0)
  const one = (group: string) => writer.string(group).string('').string('Empty').string('Classic').noTags()
  return writer.array([...groups.keys()], one).noTags()
}

/** None is of the protocol of KIP-848. */
function encodeModern(_: FakeGroups, body: Reader): Writer {
  const writer = new Writer().int32(0)
  const one = (group: string) => {
    writer.int16(69).string(null).string(group).string('').int32(0).int32(0).string('')
    writer
      .array([], () => undefined)
      .int32(0)
      .noTags()
  }
  const asked = body.array(() => body.string())
  return writer.array(asked, one).noTags()
}

/** None has members. */
function encodeDescribed(groups: FakeGroups, body: Reader): Writer {
  const writer = new Writer().int32(0)
  const one = (group: string) => {
    writer
      .int16(0)
      .string(group)
      .string(groups.has(group) ? 'Empty' : 'Dead')
      .string('')
      .string('')
    writer
      .array([], () => undefined)
      .int32(-2_147_483_648)
      .noTags()
  }
  const asked = body.array(() => body.string())
  return writer.array(asked, one).noTags()
}

function commit(groups: FakeGroups, body: Reader, maxMetadataBytes: number): Writer {
  const group = body.string()
  const notes: FakeNotes = groups.get(group) ?? new Map()
  groups.set(group, notes)
  body.int32()
  body.string()
  body.nullableString()
  const topics = body.array(() => {
    const topic = body.string()
    const partitions = body.array(() => {
      const partition = body.int32()
      const offset = body.int64()
      body.int32()
      const metadata = body.string()
      body.tags()
      const isTooLong = Buffer.byteLength(metadata) > maxMetadataBytes
      if (!isTooLong) notes.set(`${topic}/${partition}`, { offset, metadata })
      return { partition, errorCode: isTooLong ? 12 : 0 }
    })
    body.tags()
    return { topic, partitions }
  })
  const writer = new Writer().int32(0)
  const one = ({ partition, errorCode }: { partition: number; errorCode: number }) =>
    writer.int32(partition).int16(errorCode).noTags()
  return writer.array(topics, each => writer.string(each.topic).array(each.partitions, one).noTags()).noTags()
}

function encodeNotes(groups: FakeGroups, body: Reader): Writer {
  const asked = body.array(() => {
    const group = body.string()
    // Null, which is read as none, asks for all.
    const keys = body.array(() => {
      const topic = body.string()
      const partitions = body.array(() => body.int32())
      body.tags()
      return partitions.map(partition => `${topic}/${partition}`)
    })
    body.tags()
    const wanted = keys.length === 0 ? undefined : new Set(keys.flat())
    return { group, found: [...(groups.get(group) ?? [])].filter(([key]) => !wanted || wanted.has(key)) }
  })
  const writer = new Writer().int32(0)
  const one = ([key, { offset, metadata }]: [string, { offset: bigint; metadata: string }]) => {
    const [topic = '', partition = ''] = key.split('/')
    const note = () => writer.int32(Number(partition)).int64(offset).int32(-1).string(metadata).int16(0).noTags()
    writer.string(topic).array([0], note).noTags()
  }
  return writer.array(asked, ({ group, found }) => writer.string(group).array(found, one).int16(0).noTags()).noTags()
}
