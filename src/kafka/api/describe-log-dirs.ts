import type { Api } from '../wire/api.ts'
import { requestTable } from './request-table.ts'

interface LogDirs {
  dirs: {
    errorCode: number
    topics: { name: string; partitions: { partition: number; sizeBytes: bigint; isFuture: boolean }[] }[]
  }[]
}

/**
 * DescribeLogDirs v0 to v2, TAGS from v2 on
 *   request  => [topic [partitions] TAGS] TAGS
 *   response => throttle_time_ms [error_code log_dir [name [partition_index partition_size offset_lag is_future_key TAGS]
 *               TAGS] TAGS] TAGS
 */
export const describeLogDirs: Api<{ topics: { name: string; partitions: number[] }[] }, LogDirs> = {
  ...requestTable.describeLogDirs,
  encode: (writer, request) =>
    writer
      .array(request.topics, topic =>
        writer
          .string(topic.name)
          .array(topic.partitions, partition => writer.int32(partition))
          .noTags(),
      )
      .noTags(),
  decode: reader => {
    reader.int32()
    const dirs = reader.array(() => {
      const errorCode = reader.int16()
      reader.string()
      const topics = reader.array(() => {
        const name = reader.string()
        const partitions = reader.array(() => {
          const partition = reader.int32()
          const sizeBytes = reader.int64()
          reader.int64()
          const isFuture = reader.boolean()
          reader.tags()
          return { partition, sizeBytes, isFuture }
        })
        reader.tags()
        return { name, partitions }
      })
      reader.tags()
      return { errorCode, topics }
    })
    return { dirs }
  },
}
