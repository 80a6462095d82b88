import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import { requestTable } from './request-table.ts'

export interface ProduceRequest {
  /** How long the leader may wait for the other replicas. */
  timeoutMs: number
  topics: { name: string; partitions: { partition: number; batch: readonly Buffer[] }[] }[]
}

export interface ProduceResponse {
  topics: { name: string; partitions: ProducedBatch[] }[]
  throttleMs: number
}

export interface ProducedBatch {
  partition: number
  errorCode: number
  /** The offset that the first record got; -1 where nothing was appended. */
  baseOffset: bigint
  /** -1 unless the broker stamped the batch. */
  logAppendTime: bigint
  logStartOffset: bigint
  /** The records that made the broker refuse the batch, by their place in it. */
  recordErrors: { index: number; message: string | null }[]
  errorMessage: string | null
}

const ACKS_ALL = -1

/**
 * Produce v3 to v9, topics by name, acknowledged by all in-sync replicas, without a transaction, TAGS from v9 on
 *   request   => transactional_id acks timeout_ms [name [partition] TAGS] TAGS
 *   partition => index records TAGS
 *   response  => [name [partition] TAGS] throttle_time_ms TAGS
 *   partition => index error_code base_offset log_append_time_ms log_start_offset (v5)
 *                [batch_index batch_index_error_message TAGS] (v8) error_message (v8) TAGS
 * A partition takes exactly one batch.
 */
export const produceApi: Api<ProduceRequest, ProduceResponse> = {
  ...requestTable.produce,
  encode: (writer, request) =>
    writer
      .string(null)
      .int16(ACKS_ALL)
      .int32(request.timeoutMs)
      .array(request.topics, topic =>
        writer
          .string(topic.name)
          .array(topic.partitions, ({ partition, batch }) => writer.int32(partition).attach(batch).noTags())
          .noTags(),
      )
      .noTags(),
  decode: (reader, version) => {
    const topics = reader.array(() => {
      const topic = { name: reader.string(), partitions: reader.array(() => decodePartition(reader, version)) }
      reader.tags()
      return topic
    })
    return { topics, throttleMs: reader.int32() }
  },
}

function decodePartition(reader: Reader, version: number): ProducedBatch {
  const produced = {
    partition: reader.int32(),
    errorCode: reader.int16(),
    baseOffset: reader.int64(),
    logAppendTime: reader.int64(),
    logStartOffset: version >= 5 ? reader.int64() : -1n,
    recordErrors: version >= 8 ? reader.array(() => decodeRecordError(reader)) : [],
    errorMessage: version >= 8 ? reader.nullableString() : null,
  }
  reader.tags()
  return produced
}

function decodeRecordError(reader: Reader): ProducedBatch['recordErrors'][number] {
  const recordError = { index: reader.int32(), message: reader.nullableString() }
  reader.tags()
  return recordError
}
