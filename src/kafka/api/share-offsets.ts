import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import { requestTable } from './request-table.ts'

export interface DescribedShareGroup {
  group: string
  errorCode: number
  errorMessage: string | null
  topics: { name: string; partitions: DescribedSharePartition[] }[]
}

export interface DescribedSharePartition {
  partition: number
  /** The first record that is not yet processed; -1 where the group has none, or the broker could not read it. */
  startOffset: bigint
  errorCode: number
  errorMessage: string | null
}

/**
 * DescribeShareGroupOffsets v0, of all partitions of the groups
 *   request   => [group_id [topic_name [partition] TAGS]? TAGS] TAGS
 *   response  => throttle_time_ms [group_id [topic_name topic_id [partition] TAGS] error_code error_message TAGS] TAGS
 *   partition => partition_index start_offset leader_epoch error_code error_message TAGS
 */
export const describeShareGroupOffsets: Api<{ groups: readonly string[] }, DescribedShareGroup[]> = {
  ...requestTable.describeShareGroupOffsets,
  encode: (writer, request) =>
    writer
      .array(request.groups, group =>
        writer
          .string(group)
          .array(null, () => undefined)
          .noTags(),
      )
      .noTags(),
  decode: reader => {
    reader.int32()
    return reader.array(() => {
      const group = reader.string()
      const topics = reader.array(() => decodeTopic(reader, decodeDescribed))
      const [errorCode, errorMessage] = [reader.int16(), reader.nullableString()]
      reader.tags()
      return { group, errorCode, errorMessage, topics }
    })
  },
}

function decodeTopic<T>(reader: Reader, decodePartition: (reader: Reader) => T): { name: string; partitions: T[] } {
  const name = reader.string()
  reader.uuid()
  const partitions = reader.array(() => decodePartition(reader))
  reader.tags()
  return { name, partitions }
}

function decodeDescribed(reader: Reader): DescribedSharePartition {
  const [partition, startOffset] = [reader.int32(), reader.int64()]
  reader.int32()
  const [errorCode, errorMessage] = [reader.int16(), reader.nullableString()]
  reader.tags()
  return { partition, startOffset, errorCode, errorMessage }
}

interface AlterShareGroupOffsetsRequest {
  group: string
  topics: { name: string; partitions: readonly { partition: number; offset: bigint }[] }[]
}

interface AlterShareGroupOffsetsResponse {
  errorCode: number
  errorMessage: string | null
  topics: { name: string; partitions: { partition: number; errorCode: number; errorMessage: string | null }[] }[]
}

/**
 * AlterShareGroupOffsets v0: creates the group where there is none, and is refused while it has members
 *   request  => group_id [topic_name [partition_index start_offset TAGS] TAGS] TAGS
 *   response => throttle_time_ms error_code error_message
 *               [topic_name topic_id [partition_index error_code error_message TAGS] TAGS] TAGS
 */
export const alterShareGroupOffsets: Api<AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse> = {
  ...requestTable.alterShareGroupOffsets,
  encode: (writer, { group, topics }) =>
    writer
      .string(group)
      .array(topics, ({ name, partitions }) =>
        writer
          .string(name)
          .array(partitions, ({ partition, offset }) => writer.int32(partition).int64(offset).noTags())
          .noTags(),
      )
      .noTags(),
  decode: reader => {
    reader.int32()
    const [errorCode, errorMessage] = [reader.int16(), reader.nullableString()]
    return { errorCode, errorMessage, topics: reader.array(() => decodeTopic(reader, decodeAltered)) }
  },
}

function decodeAltered(reader: Reader): { partition: number; errorCode: number; errorMessage: string | null } {
  const altered = { partition: reader.int32(), errorCode: reader.int16(), errorMessage: reader.nullableString() }
  reader.tags()
  return altered
}
