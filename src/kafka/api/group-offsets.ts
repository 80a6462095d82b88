import type { Api } from '../wire/api.ts'

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
 * OffsetFetch v8
 *   request  => [group_id [name [partition_indexes] TAGS] TAGS] require_stable TAGS
 *   response => throttle_time_ms [group_id [name [partition] TAGS] error_code TAGS] TAGS
 *   partition => partition_index committed_offset committed_leader_epoch metadata error_code TAGS
 */
export const offsetFetch: Api<OffsetFetchRequest, OffsetFetchResponse> = {
  name: 'OffsetFetch',
  key: 9,
  version: 8,
  encode: (writer, request) =>
    writer
      .array(request.groups, ({ group, topics }) =>
        writer
          .string(group)
          .array(topics, ({ name, partitions }) =>
            writer
              .string(name)
              .array(partitions, partition => writer.int32(partition))
              .noTags(),
          )
          .noTags(),
      )
      .boolean(request.requireStable)
      .noTags(),
  decode: reader => {
    reader.int32()
    const groups = reader.array(() => {
      const group = reader.string()
      const topics = reader.array(() => {
        const name = reader.string()
        const partitions = reader.array(() => {
          const fetched = {
            partition: reader.int32(),
            offset: reader.int64(),
            leaderEpoch: reader.int32(),
            metadata: reader.nullableString(),
            errorCode: reader.int16(),
          }
          reader.tags()
          return fetched
        })
        reader.tags()
        return { name, partitions }
      })
      const errorCode = reader.int16()
      reader.tags()
      return { group, errorCode, topics }
    })
    return { groups }
  },
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

/**
 * OffsetCommit v8, without a group member: a broker accepts it while the group has no members
 *   request  => group_id generation_id member_id group_instance_id
 *               [name [partition_index committed_offset committed_leader_epoch committed_metadata TAGS] TAGS] TAGS
 *   response => throttle_time_ms [name [partition_index error_code TAGS] TAGS] TAGS
 */
export const offsetCommit: Api<OffsetCommitRequest, OffsetCommitResponse> = {
  name: 'OffsetCommit',
  key: 8,
  version: 8,
  encode: (writer, request) =>
    writer
      .string(request.group)
      .int32(NO_GENERATION)
      .string(NO_MEMBER)
      .string(null)
      .array(request.topics, topic =>
        writer
          .string(topic.name)
          .array(topic.partitions, p =>
            writer.int32(p.partition).int64(p.offset).int32(p.leaderEpoch).string(p.metadata).noTags(),
          )
          .noTags(),
      )
      .noTags(),
  decode: reader => {
    reader.int32()
    const topics = reader.array(() => {
      const name = reader.string()
      const partitions = reader.array(() => {
        const answer = { partition: reader.int32(), errorCode: reader.int16() }
        reader.tags()
        return answer
      })
      reader.tags()
      return { name, partitions }
    })
    return { topics }
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
 * OffsetDelete v0, which has no version with the flexible encoding
 *   request  => group_id STRING [name STRING [partition_index]]
 *   response => error_code throttle_time_ms [name STRING [partition_index error_code]]
 */
export const offsetDelete: Api<OffsetDeleteRequest, OffsetDeleteResponse> = {
  name: 'OffsetDelete',
  key: 47,
  version: 0,
  isLegacy: true,
  encode: (writer, { group, topics }) => {
    writer.legacyString(group).int32(topics.length)
    for (const { name, partitions } of topics) {
      writer.legacyString(name).int32(partitions.length)
      for (const partition of partitions) writer.int32(partition)
    }
  },
  decode: reader => {
    const errorCode = reader.int16()
    reader.int32()
    const topics = reader.legacyArray(() => ({
      name: reader.legacyString(),
      partitions: reader.legacyArray(() => ({ partition: reader.int32(), errorCode: reader.int16() })),
    }))
    return { errorCode, topics }
  },
}
