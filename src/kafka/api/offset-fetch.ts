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
