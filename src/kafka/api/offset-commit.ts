import type { Api } from '../wire/api.ts'

export interface OffsetCommitRequest {
  group: string
  topics: { name: string; partitions: PartitionCommit[] }[]
}

export interface PartitionCommit {
  partition: number
  offset: bigint
  /** Of the last record that was read; -1 is unknown. */
  leaderEpoch: number
  metadata: string | null
}

export interface OffsetCommitResponse {
  topics: { name: string; partitions: { partition: number; errorCode: number }[] }[]
}

const NO_GENERATION = -1
const NO_MEMBER = ''

/**
 * OffsetCommit v8, by nobody of the group: a broker takes it while the group has no members
 *   request  => group_id generation_id member_id group_instance_id
 *               [name [partition_index committed_offset committed_leader_epoch committed_metadata TAGS] TAGS] TAGS
 *   response => throttle_time_ms [name [partition_index error_code TAGS] TAGS] TAGS
 */
export const offsetCommit: Api<OffsetCommitRequest, OffsetCommitResponse> = {
  name: 'OffsetCommit',
  key: 8,
  version: 8,
  encode: (writer, request) =>
    writer
      .string(request.group)
      .int32(NO_GENERATION)
      .string(NO_MEMBER)
      .string(null)
      .array(request.topics, topic =>
        writer
          .string(topic.name)
          .array(topic.partitions, p =>
            writer.int32(p.partition).int64(p.offset).int32(p.leaderEpoch).string(p.metadata).noTags(),
          )
          .noTags(),
      )
      .noTags(),
  decode: reader => {
    reader.int32()
    const topics = reader.array(() => {
      const name = reader.string()
      const partitions = reader.array(() => {
        const answer = { partition: reader.int32(), errorCode: reader.int16() }
        reader.tags()
        return answer
      })
      reader.tags()
      return { name, partitions }
    })
    return { topics }
  },
}
