import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import type { Writer } from '../wire/writer.ts'
import { decodeTopics } from './decode-topics.ts'
import { requestTable } from './request-table.ts'

export interface OffsetFetchRequest {
  /** Answers UNSTABLE_OFFSET_COMMIT for a partition whose newest offset is in an open transaction, instead of the last committed one. */
  requireStable: boolean
  groups: { group: string /** Null asks for all that the group has. */; topics: TopicPartitions[] | null }[]
}

export interface TopicPartitions {
  name: string
  partitions: number[]
}

export interface OffsetFetchResponse {
  groups: {
    group: string
    errorCode: number
    topics: { name: string; partitions: FetchedOffset[] }[]
  }[]
}

export interface FetchedOffset {
  partition: number
  /** -1 where nothing is committed. */
  offset: bigint
  leaderEpoch: number
  metadata: string | null
  errorCode: number
}

/**
 * OffsetFetch v2 to v8, TAGS from v6 on
 *   request  => [group_id [topic] TAGS] (v8) group_id [topic] (before) require_stable (v7) TAGS
 *   topic    => name [partition_indexes] TAGS
 *   response => throttle_time_ms (v3) [group_id [topic] error_code TAGS] TAGS   (v8)
 *   response => throttle_time_ms (v3) [topic] error_code TAGS   (before)
 *   topic    => name [partition_index committed_offset committed_leader_epoch (v5) metadata error_code TAGS] TAGS
 */
export const offsetFetch: Api<OffsetFetchRequest, OffsetFetchResponse> = {
  ...requestTable.offsetFetch,
  oneByOne: {
    before: 8,
    split: ({ groups, requireStable }) => groups.map(group => ({ requireStable, groups: [group] })),
    join: answers => ({ groups: answers.flatMap(({ groups }) => groups) }),
  },
  encode: (writer, { groups, requireStable }, version) => {
    const encodeGroup = ({ group, topics }: OffsetFetchRequest['groups'][number]) =>
      writer.string(group).array(topics, topic => encodeTopic(writer, topic))
    if (version >= 8) writer.array(groups, one => encodeGroup(one).noTags())
    else for (const one of groups) encodeGroup(one)
    if (version >= 7) writer.boolean(requireStable)
    writer.noTags()
  },
  decode: (reader, version, request) => {
    if (version >= 3) reader.int32()
    const decodeGroup = (group: string) => ({
      group,
      topics: decodeTopics(reader, () => decodeOffset(reader, version)),
      errorCode: reader.int16(),
    })
    if (version < 8) return { groups: [decodeGroup(request.groups[0]?.group ?? '')] }
    const groups = reader.array(() => {
      const one = decodeGroup(reader.string())
      reader.tags()
      return one
    })
    return { groups }
  },
}

function encodeTopic(writer: Writer, { name, partitions }: TopicPartitions): void {
  writer
    .string(name)
    .array(partitions, partition => writer.int32(partition))
    .noTags()
}

function decodeOffset(reader: Reader, version: number): FetchedOffset {
  return {
    partition: reader.int32(),
    offset: reader.int64(),
    leaderEpoch: version >= 5 ? reader.int32() : -1,
    metadata: reader.nullableString(),
    errorCode: reader.int16(),
  }
}

export interface OffsetCommitRequest {
  group: string
  topics: { name: string; partitions: PartitionCommit[] }[]
}

interface PartitionCommit {
  partition: number
  offset: bigint
  /** Of the last record that was read; -1 is unknown. */
  leaderEpoch: number
  metadata: string | null
}

interface OffsetCommitResponse {
  topics: { name: string; partitions: { partition: number; errorCode: number }[] }[]
}

const NO_GENERATION = -1
const NO_MEMBER = ''
const DEFAULT_RETENTION = -1n

/**
 * OffsetCommit v2 to v8, TAGS from v8 on, without a group member: a broker accepts it while the group has no members
 *   request  => group_id generation_id member_id group_instance_id (v7) retention_time_ms (before v5)
 *               [name [partition_index committed_offset committed_leader_epoch (v6) committed_metadata TAGS] TAGS] TAGS
 *   response => throttle_time_ms (v3) [name [partition_index error_code TAGS] TAGS] TAGS
 */
export const offsetCommit: Api<OffsetCommitRequest, OffsetCommitResponse> = {
  ...requestTable.offsetCommit,
  encode: (writer, request, version) => {
    writer.string(request.group).int32(NO_GENERATION).string(NO_MEMBER)
    if (version >= 7) writer.string(null)
    if (version < 5) writer.int64(DEFAULT_RETENTION)
    writer
      .array(request.topics, ({ name, partitions }) =>
        writer
          .string(name)
          .array(partitions, ({ partition, offset, leaderEpoch, metadata }) => {
            writer.int32(partition).int64(offset)
            if (version >= 6) writer.int32(leaderEpoch)
            writer.string(metadata).noTags()
          })
          .noTags(),
      )
      .noTags()
  },
  decode: (reader, version) => {
    if (version >= 3) reader.int32()
    const decodePartition = () => ({ partition: reader.int32(), errorCode: reader.int16() })
    return { topics: decodeTopics(reader, decodePartition) }
  },
}

interface OffsetDeleteRequest {
  group: string
  topics: TopicPartitions[]
}

interface OffsetDeleteResponse {
  errorCode: number
  topics: { name: string; partitions: { partition: number; errorCode: number }[] }[]
}

/**
 * OffsetDelete v0, which has no version with tags
 *   request  => group_id [name [partition_index]]
 *   response => error_code throttle_time_ms [name [partition_index error_code]]
 */
export const offsetDelete: Api<OffsetDeleteRequest, OffsetDeleteResponse> = {
  ...requestTable.offsetDelete,
  encode: (writer, { group, topics }) => writer.string(group).array(topics, topic => encodeTopic(writer, topic)),
  decode: reader => {
    const errorCode = reader.int16()
    reader.int32()
    const decodePartition = () => ({ partition: reader.int32(), errorCode: reader.int16() })
    return { errorCode, topics: decodeTopics(reader, decodePartition) }
  },
}
