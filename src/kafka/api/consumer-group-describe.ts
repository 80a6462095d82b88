import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'

export interface DescribedConsumerGroup {
  errorCode: number
  errorMessage: string | null
  group: string
  state: string
  members: number
}

/**
 * ConsumerGroupDescribe v0, of groups of the consumer protocol of KIP-848
 *   request    => [group_id] include_authorized_operations TAGS
 *   response   => throttle_time_ms [error_code error_message group_id group_state group_epoch assignment_epoch
 *                 assignor_name [member] authorized_operations TAGS] TAGS
 *   member     => member_id instance_id rack_id member_epoch client_id client_host [subscribed_topic_name]
 *                 subscribed_topic_regex assignment target_assignment TAGS
 *   assignment => [topic_id topic_name [partition] TAGS] TAGS
 */
export const consumerGroupDescribe = groupDescribeApi(
  'ConsumerGroupDescribe',
  69,
  reader => reader.string(),
  skipMember,
)

type Skip = (reader: Reader) => unknown

/** The request that types of groups share; they differ in one field before the members, and in the members. */
export function groupDescribeApi(
  name: string,
  key: number,
  skipOwn: Skip,
  skipMember: Skip,
): Api<{ groups: string[] }, DescribedConsumerGroup[]> {
  return {
    ...{ name, key, version: 0 },
    encode: (writer, request) =>
      writer
        .array(request.groups, group => writer.string(group))
        .boolean(false)
        .noTags(),
    decode: reader => {
      reader.int32()
      return reader.array(() => decodeGroup(reader, skipOwn, skipMember))
    },
  }
}

function decodeGroup(reader: Reader, skipOwn: Skip, skipMember: Skip): DescribedConsumerGroup {
  const errorCode = reader.int16()
  const errorMessage = reader.nullableString()
  const group = reader.string()
  const state = reader.string()
  reader.int32()
  reader.int32()
  skipOwn(reader)
  const members = reader.array(() => skipMember(reader)).length
  reader.int32()
  reader.tags()
  return { errorCode, errorMessage, group, state, members }
}

function skipMember(reader: Reader): void {
  reader.string()
  reader.nullableString()
  reader.nullableString()
  reader.int32()
  reader.string()
  reader.string()
  reader.array(() => reader.string())
  reader.nullableString()
  skipAssignment(reader)
  skipAssignment(reader)
  reader.tags()
}

function skipAssignment(reader: Reader): void {
  reader.array(() => {
    reader.uuid()
    reader.string()
    reader.array(() => reader.int32())
    reader.tags()
  })
  reader.tags()
}
