import type { Api } from '../wire/api.ts'

export interface ListOffsetsRequest {
  isolation: Isolation
  topics: { name: string; partitions: { partition: number; leaderEpoch: number; timestamp: bigint }[] }[]
}

export interface ListOffsetsResponse {
  topics: { name: string; partitions: ListedOffset[] }[]
}

export interface ListedOffset {
  partition: number
  errorCode: number
  timestamp: bigint
  offset: bigint
  leaderEpoch: number
}

export type Isolation = 'read_uncommitted' | 'read_committed'

export const EARLIEST = -2n
/** The high watermark, or with `read_committed` the last stable offset. */
export const LATEST = -1n

/**
 * ListOffsets v7
 *   request  => replica_id isolation_level [name [partition_index current_leader_epoch timestamp TAGS] TAGS] TAGS
 *   response => throttle_time_ms [name [partition_index error_code timestamp offset leader_epoch TAGS] TAGS] TAGS
 */
export const listOffsets: Api<ListOffsetsRequest, ListOffsetsResponse> = {
  name: 'ListOffsets',
  key: 2,
  version: 7,
  encode: (writer, request) =>
    writer
      .int32(-1)
      .int8(request.isolation === 'read_committed' ? 1 : 0)
      .array(request.topics, topic =>
        writer
          .string(topic.name)
          .array(topic.partitions, p => writer.int32(p.partition).int32(p.leaderEpoch).int64(p.timestamp).noTags())
          .noTags(),
      )
      .noTags(),
  decode: reader => {
    reader.int32()
    const topics = reader.array(() => {
      const topic = {
        name: reader.string(),
        partitions: reader.array(() => {
          const listed = {
            partition: reader.int32(),
            errorCode: reader.int16(),
            timestamp: reader.int64(),
            offset: reader.int64(),
            leaderEpoch: reader.int32(),
          }
          reader.tags()
          return listed
        }),
      }
      reader.tags()
      return topic
    })
    return { topics }
  },
}
