import type { Api, ApiVersions } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import { requestTable } from './request-table.ts'

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
  requestTable.consumerGroupDescribe,
  reader => reader.string(),
  skipConsumerMember,
)

type Skip = (reader: Reader) => unknown

/** The request that types of groups share; they differ in one field before the members, and in the members. */
function groupDescribeApi(
  row: ApiVersions,
  skipOwn: Skip,
  skipMember: Skip,
): Api<{ groups: string[] }, DescribedConsumerGroup[]> {
  return {
    ...row,
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

function skipConsumerMember(reader: Reader): void {
  reader.string()
  reader.nullableString()
  reader.nullableString()
  reader.int32()
  reader.string()
  reader.string()
  reader.array(() => reader.string())
  reader.nullableString()
  skipConsumerAssignment(reader)
  skipConsumerAssignment(reader)
  reader.tags()
}

function skipConsumerAssignment(reader: Reader): void {
  reader.array(() => {
    reader.uuid()
    reader.string()
    reader.array(() => reader.int32())
    reader.tags()
  })
  reader.tags()
}

/**
 * ShareGroupDescribe v1, of share groups (KIP-932); version 0 is that of the early access in Kafka 4.0
 *   request, response and assignment as of ConsumerGroupDescribe
 *   member => member_id rack_id member_epoch client_id client_host [subscribed_topic_name] assignment TAGS
 */
export const shareGroupDescribe = groupDescribeApi(
  requestTable.shareGroupDescribe,
  reader => reader.string(),
  skipShareMember,
)

function skipShareMember(reader: Reader): void {
  reader.string()
  reader.nullableString()
  reader.int32()
  reader.string()
  reader.string()
  reader.array(() => reader.string())
  skipConsumerAssignment(reader)
  reader.tags()
}

/**
 * StreamsGroupDescribe v0, of groups of the Streams protocol of KIP-1071
 *   request     => [group_id] include_authorized_operations TAGS
 *   response    => throttle_time_ms [error_code error_message group_id group_state group_epoch assignment_epoch
 *                  topology? [member] authorized_operations TAGS] TAGS
 *   topology    => epoch [subtopology_id [source_topic] [repartition_sink_topic] [state_changelog_topic]
 *                  [repartition_source_topic] TAGS] TAGS
 *   topic_info  => name partitions replication_factor [key value TAGS] TAGS   (the last two lists of a subtopology)
 *   member      => member_id member_epoch instance_id rack_id client_id client_host topology_epoch process_id
 *                  endpoint? [client_tag] [task_offset] [task_end_offset] assignment target_assignment is_classic TAGS
 *   endpoint    => host port TAGS
 *   task_offset => subtopology_id partition offset TAGS
 *   assignment  => [active_task] [standby_task] [warmup_task] TAGS
 *   task        => subtopology_id [partition] TAGS
 * A struct with ? begins with one byte: -1 is none.
 */
export const streamsGroupDescribe = groupDescribeApi(requestTable.streamsGroupDescribe, skipTopology, skipStreamsMember)

function skipTopology(reader: Reader): void {
  if (reader.int8() < 0) return
  reader.int32()
  reader.array(() => {
    reader.string()
    reader.array(() => reader.string())
    reader.array(() => reader.string())
    for (let list = 0; list < 2; list++) reader.array(() => skipTopicInfo(reader))
    reader.tags()
  })
  reader.tags()
}

function skipTopicInfo(reader: Reader): void {
  reader.string()
  reader.int32()
  reader.int16()
  reader.array(() => skipPair(reader))
  reader.tags()
}

function skipStreamsMember(reader: Reader): void {
  reader.string()
  reader.int32()
  reader.nullableString()
  reader.nullableString()
  reader.string()
  reader.string()
  reader.int32()
  reader.string()
  if (reader.int8() >= 0) skipEndpoint(reader)
  reader.array(() => skipPair(reader))
  for (let list = 0; list < 2; list++) reader.array(() => skipTaskOffset(reader))
  for (let assignment = 0; assignment < 2; assignment++) skipStreamsAssignment(reader)
  reader.boolean()
  reader.tags()
}

function skipEndpoint(reader: Reader): void {
  reader.string()
  reader.int16()
  reader.tags()
}

function skipPair(reader: Reader): void {
  reader.string()
  reader.string()
  reader.tags()
}

function skipTaskOffset(reader: Reader): void {
  reader.string()
  reader.int32()
  reader.int64()
  reader.tags()
}

function skipStreamsAssignment(reader: Reader): void {
  for (let list = 0; list < 3; list++) {
    reader.array(() => {
      reader.string()
      reader.array(() => reader.int32())
      reader.tags()
    })
  }
  reader.tags()
}
