import type { Api } from '../wire/api.ts'

export interface EpochRequest {
  topics: { name: string; partitions: { partition: number; epoch: number }[] }[]
}

export interface EpochResponse {
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
    const topics = reader.array(() => {
      const topic = {
        name: reader.string(),
        partitions: reader.array(() => {
          const end = {
            errorCode: reader.int16(),
            partition: reader.int32(),
            epoch: reader.int32(),
            endOffset: reader.int64(),
          }
          reader.tags()
          return end
        }),
      }
      reader.tags()
      return topic
    })
    return { topics }
  },
}
