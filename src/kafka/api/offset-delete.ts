import type { Api } from '../wire/api.ts'
import type { TopicPartitions } from './offset-fetch.ts'

export interface OffsetDeleteRequest {
  group: string
  topics: TopicPartitions[]
}

export interface OffsetDeleteResponse {
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
