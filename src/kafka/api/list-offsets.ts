import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'

export interface ListOffsetsRequest {
  isolation: Isolation
  topics: { name: string; partitions: { partition: number; leaderEpoch: number; timestamp: bigint }[] }[]
}

interface ListOffsetsResponse {
  topics: { name: string; partitions: ListedOffset[] }[]
}

interface ListedOffset {
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
    return {
      topics: decodeTopics(reader, () => ({
        partition: reader.int32(),
        errorCode: reader.int16(),
        timestamp: reader.int64(),
        offset: reader.int64(),
        leaderEpoch: reader.int32(),
      })),
    }
  },
}

interface EpochRequest {
  topics: { name: string; partitions: { partition: number; epoch: number }[] }[]
}

interface EpochResponse {
  topics: { name: string; partitions: EpochEnd[] }[]
}

export interface EpochEnd {
  errorCode: number
  partition: number
  /** The requested epoch, or the highest below it that the log has; -1 where the requested one is above all of them. */
  epoch: number
  /** Where that epoch ends in the log; -1 where the epoch is. */
  endOffset: bigint
}

/**
 * OffsetForLeaderEpoch v4
 *   request  => replica_id [topic [partition current_leader_epoch leader_epoch TAGS] TAGS] TAGS
 *   response => throttle_time_ms [topic [error_code partition leader_epoch end_offset TAGS] TAGS] TAGS
 */
export const offsetForLeaderEpoch: Api<EpochRequest, EpochResponse> = {
  name: 'OffsetForLeaderEpoch',
  key: 23,
  version: 4,
  encode: (writer, request) =>
    writer
      .int32(-1)
      .array(request.topics, topic =>
        writer
          .string(topic.name)
          .array(topic.partitions, one => writer.int32(one.partition).int32(-1).int32(one.epoch).noTags())
          .noTags(),
      )
      .noTags(),
  decode: reader => {
    reader.int32()
    return {
      topics: decodeTopics(reader, () => ({
        errorCode: reader.int16(),
        partition: reader.int32(),
        epoch: reader.int32(),
        endOffset: reader.int64(),
      })),
    }
  },
}

/** `[name [partition TAGS] TAGS]` */
function decodeTopics<T>(reader: Reader, decodePartition: () => T): { name: string; partitions: T[] }[] {
  return reader.array(() => {
    const name = reader.string()
    const partitions = reader.array(() => {
      const partition = decodePartition()
      reader.tags()
      return partition
    })
    reader.tags()
    return { name, partitions }
  })
}
