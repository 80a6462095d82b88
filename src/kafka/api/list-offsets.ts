import type { Api } from '../wire/api.ts'
import { decodeTopics } from './decode-topics.ts'
import { requestTable } from './request-table.ts'

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
/** What the leader has on its own disk, from version 8 on; a broker refuses it in an older one. */
export const EARLIEST_LOCAL = -4n
/** The high watermark, or with `read_committed` the last stable offset. */
export const LATEST = -1n

/**
 * ListOffsets v2 to v8, TAGS from v6 on
 *   request  => replica_id isolation_level [name [partition_index current_leader_epoch (v4) timestamp TAGS] TAGS] TAGS
 *   response => throttle_time_ms [name [partition_index error_code timestamp offset leader_epoch (v4) TAGS] TAGS] TAGS
 */
export const listOffsets: Api<ListOffsetsRequest, ListOffsetsResponse> = {
  ...requestTable.listOffsets,
  encode: (writer, request, version) =>
    writer
      .int32(-1)
      .int8(request.isolation === 'read_committed' ? 1 : 0)
      .array(request.topics, ({ name, partitions }) =>
        writer
          .string(name)
          .array(partitions, ({ partition, leaderEpoch, timestamp }) => {
            writer.int32(partition)
            if (version >= 4) writer.int32(leaderEpoch)
            writer.int64(timestamp).noTags()
          })
          .noTags(),
      )
      .noTags(),
  decode: (reader, version) => {
    reader.int32()
    return {
      topics: decodeTopics(reader, () => ({
        partition: reader.int32(),
        errorCode: reader.int16(),
        timestamp: reader.int64(),
        offset: reader.int64(),
        leaderEpoch: version >= 4 ? reader.int32() : -1,
      })),
    }
  },
}

interface EpochRequest {
  /** A leader that leads in another epoch than `currentEpoch` answers with an error. */
  topics: { name: string; partitions: { partition: number; epoch: number; currentEpoch?: number | undefined }[] }[]
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
 * OffsetForLeaderEpoch v1 to v4, TAGS from v4 on
 *   request  => replica_id (v3) [topic [partition current_leader_epoch (v2) leader_epoch TAGS] TAGS] TAGS
 *   response => throttle_time_ms (v2) [topic [error_code partition leader_epoch end_offset TAGS] TAGS] TAGS
 */
export const offsetForLeaderEpoch: Api<EpochRequest, EpochResponse> = {
  ...requestTable.offsetForLeaderEpoch,
  encode: (writer, request, version) => {
    if (version >= 3) writer.int32(-1)
    writer
      .array(request.topics, ({ name, partitions }) =>
        writer
          .string(name)
          .array(partitions, ({ partition, epoch, currentEpoch = -1 }) => {
            writer.int32(partition)
            if (version >= 2) writer.int32(currentEpoch)
            writer.int32(epoch).noTags()
          })
          .noTags(),
      )
      .noTags()
  },
  decode: (reader, version) => {
    if (version >= 2) reader.int32()
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
