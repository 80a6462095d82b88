import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import type { Writer } from '../wire/writer.ts'
import type { Isolation } from './list-offsets.ts'
import { requestTable } from './request-table.ts'

export interface FetchRequest {
  maxWaitMs: number
  maxBytes: number
  partitionMaxBytes: number
  rack: string
  isolation: Isolation
  topics: { id: string; name: string; partitions: FetchPosition[] }[]
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
  /** By ID from version 13 on, or else by name. */
  topics: { id: string | undefined; name: string | undefined; partitions: FetchedPartition[] }[]
}

export interface FetchedPartition {
  partition: number
  errorCode: number
  highWatermark: bigint
  lastStableOffset: bigint
  /** -1 where the version does not have it. */
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
 * Fetch v4 to v13, TAGS from v12 on, no fetch session
 *   request   => replica_id max_wait_ms min_bytes max_bytes isolation_level session_id (v7) session_epoch (v7)
 *                [topic_id (v13) name (before) [partition] TAGS] [forgotten] (v7) rack_id (v11) TAGS
 *   partition => partition current_leader_epoch (v9) fetch_offset last_fetched_epoch (v12) log_start_offset (v5)
 *                partition_max_bytes TAGS
 *   response  => throttle_time_ms error_code (v7) session_id (v7) [topic_id (v13) name (before) [partition] TAGS] TAGS
 *   partition => partition_index error_code high_watermark last_stable_offset log_start_offset (v5)
 *                [producer_id first_offset TAGS] preferred_read_replica (v11) records TAGS(0: epoch end_offset TAGS)
 */
export const fetchApi: Api<FetchRequest, FetchResponse> = {
  ...requestTable.fetch,
  encode: (writer, request, version) => {
    writer.int32(-1).int32(request.maxWaitMs).int32(1).int32(request.maxBytes)
    writer.int8(request.isolation === 'read_committed' ? 1 : 0)
    if (version >= 7) writer.int32(0).int32(-1)
    writer.array(request.topics, ({ id, name, partitions }) => {
      if (version >= 13) writer.uuid(id)
      else writer.string(name)
      writer.array(partitions, one => encodePosition(writer, one, request.partitionMaxBytes, version)).noTags()
    })
    if (version >= 7) writer.array([], () => undefined)
    if (version >= 11) writer.string(request.rack)
    writer.noTags()
  },
  decode: (reader, version) => {
    const throttleMs = reader.int32()
    const errorCode = version >= 7 ? reader.int16() : 0
    if (version >= 7) reader.int32()
    const topics = reader.array(() => {
      const topic = {
        id: version >= 13 ? reader.uuid() : undefined,
        name: version >= 13 ? undefined : reader.string(),
        partitions: reader.array(() => decodePartition(reader, version)),
      }
      reader.tags()
      return topic
    })
    return { throttleMs, errorCode, topics }
  },
}

function encodePosition(writer: Writer, position: FetchPosition, maxBytes: number, version: number): void {
  writer.int32(position.partition)
  if (version >= 9) writer.int32(position.leaderEpoch)
  writer.int64(position.offset)
  if (version >= 12) writer.int32(position.lastFetchedEpoch)
  if (version >= 5) writer.int64(-1n)
  writer.int32(maxBytes).noTags()
}

function decodePartition(reader: Reader, version: number): FetchedPartition {
  const fixed = {
    partition: reader.int32(),
    errorCode: reader.int16(),
    highWatermark: reader.int64(),
    lastStableOffset: reader.int64(),
    logStartOffset: version >= 5 ? reader.int64() : -1n,
    abortedTransactions: reader.array(() => {
      const aborted = { producerId: reader.int64(), firstOffset: reader.int64() }
      reader.tags()
      return aborted
    }),
    preferredReplica: version >= 11 ? reader.int32() : -1,
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
