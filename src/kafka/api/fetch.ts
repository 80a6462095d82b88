import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import type { Isolation } from './list-offsets.ts'

export interface FetchRequest {
  maxWaitMs: number
  maxBytes: number
  partitionMaxBytes: number
  rack: string
  isolation: Isolation
  topics: { id: string; partitions: FetchPosition[] }[]
}

export interface FetchPosition {
  partition: number
  leaderEpoch: number
  offset: bigint
  /** Epoch of the last batch held; the broker then says when its own log has another history. -1 is unknown. */
  lastFetchedEpoch: number
}

export interface FetchResponse {
  throttleMs: number
  errorCode: number
  topics: { id: string; partitions: FetchedPartition[] }[]
}

export interface FetchedPartition {
  partition: number
  errorCode: number
  highWatermark: bigint
  lastStableOffset: bigint
  logStartOffset: bigint
  abortedTransactions: { producerId: bigint; firstOffset: bigint }[]
  /** A replica nearer to the rack that the request named, which is to be asked instead; -1 where there is none. */
  preferredReplica: number
  /** The position of the batches in the response. */
  start: number
  end: number
  /** The end of the common history, if ours diverges from the broker's. */
  divergesAt: bigint | undefined
}

/**
 * Fetch v13, topics by id, no fetch session
 *   request   => replica_id max_wait_ms min_bytes max_bytes isolation_level session_id session_epoch
 *                [topic_id [partition] TAGS] [forgotten] rack_id TAGS
 *   partition => partition current_leader_epoch fetch_offset last_fetched_epoch log_start_offset partition_max_bytes TAGS
 *   response  => throttle_time_ms error_code session_id [topic_id [partition] TAGS] TAGS
 *   partition => partition_index error_code high_watermark last_stable_offset log_start_offset
 *                [producer_id first_offset TAGS] preferred_read_replica records TAGS(0: epoch end_offset TAGS)
 */
export const fetchApi: Api<FetchRequest, FetchResponse> = {
  name: 'Fetch',
  key: 1,
  version: 13,
  encode: (writer, request) =>
    writer
      .int32(-1)
      .int32(request.maxWaitMs)
      .int32(1)
      .int32(request.maxBytes)
      .int8(request.isolation === 'read_committed' ? 1 : 0)
      .int32(0)
      .int32(-1)
      .array(request.topics, topic =>
        writer
          .uuid(topic.id)
          .array(topic.partitions, p =>
            writer
              .int32(p.partition)
              .int32(p.leaderEpoch)
              .int64(p.offset)
              .int32(p.lastFetchedEpoch)
              .int64(-1n)
              .int32(request.partitionMaxBytes)
              .noTags(),
          )
          .noTags(),
      )
      .array([], () => undefined)
      .string(request.rack)
      .noTags(),
  decode: reader => {
    const throttleMs = reader.int32()
    const errorCode = reader.int16()
    reader.int32()
    const topics = reader.array(() => {
      const topic = { id: reader.uuid(), partitions: reader.array(() => decodePartition(reader)) }
      reader.tags()
      return topic
    })
    return { throttleMs, errorCode, topics }
  },
}

function decodePartition(reader: Reader): FetchedPartition {
  const fixed = {
    partition: reader.int32(),
    errorCode: reader.int16(),
    highWatermark: reader.int64(),
    lastStableOffset: reader.int64(),
    logStartOffset: reader.int64(),
    abortedTransactions: reader.array(() => {
      const aborted = { producerId: reader.int64(), firstOffset: reader.int64() }
      reader.tags()
      return aborted
    }),
    preferredReplica: reader.int32(),
  }
  const { start, end } = reader.bytesRange()
  let divergesAt: bigint | undefined
  reader.tags(tag => {
    if (tag !== 0) return
    // An unset field may be spelled out all the same, with an epoch of -1.
    const epoch = reader.int32()
    const endOffset = reader.int64()
    if (epoch >= 0) divergesAt = endOffset
  })
  return { ...fixed, start, end, divergesAt }
}
