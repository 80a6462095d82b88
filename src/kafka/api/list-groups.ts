import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'

interface ListGroupsResponse {
  errorCode: number
  groups: ListedGroup[]
}

export interface ListedGroup {
  group: string
  /** `consumer` is ordinary consumers, empty is a group that only ever had offsets committed; `connect` and others. */
  protocolType: string
  /** As the broker words it, such as `Stable`, `Empty`. */
  state: string
  /** As the broker words it: `Classic`, `Consumer`, `Share`, `Streams`; undefined where it does not tell. */
  type: string | undefined
}

/**
 * ListGroups v5: the groups that the asked broker coordinates, of all states and types
 *   request  => [states_filter] [types_filter] TAGS
 *   response => throttle_time_ms error_code [group_id protocol_type group_state group_type TAGS] TAGS
 */
export const listGroupsApi: Api<Record<never, never>, ListGroupsResponse> = {
  name: 'ListGroups',
  key: 16,
  version: 5,
  encode: writer =>
    writer
      .array([], () => undefined)
      .array([], () => undefined)
      .noTags(),
  decode: reader => decodeGroups(reader, true),
}

/**
 * ListGroups v4, of brokers that know classic groups only
 *   request  => [states_filter] TAGS
 *   response => throttle_time_ms error_code [group_id protocol_type group_state TAGS] TAGS
 */
export const listGroupsBeforeTypes: Api<Record<never, never>, ListGroupsResponse> = {
  name: 'ListGroups',
  key: 16,
  version: 4,
  encode: writer => writer.array([], () => undefined).noTags(),
  decode: reader => decodeGroups(reader, false),
}

function decodeGroups(reader: Reader, hasType: boolean): ListGroupsResponse {
  reader.int32()
  const errorCode = reader.int16()
  const groups = reader.array(() => {
    const listed = {
      group: reader.string(),
      protocolType: reader.string(),
      state: reader.string(),
      type: hasType ? reader.string() : undefined,
    }
    reader.tags()
    return listed
  })
  return { errorCode, groups }
}

export interface DescribedGroup {
  errorCode: number
  group: string
  /** `Dead` is none that exists. */
  state: string
  members: number
  /** Bits by operation code; undefined where the broker does not tell. */
  authorizedOperations: number | undefined
}

const OPERATIONS_UNKNOWN = -2147483648

/**
 * DescribeGroups v5, with the operations that we may do
 *   request  => [group] include_authorized_operations TAGS
 *   response => throttle_time_ms [error_code group_id group_state protocol_type protocol_data [member]
 *               authorized_operations TAGS] TAGS
 *   member   => member_id group_instance_id client_id client_host member_metadata member_assignment TAGS
 */
export const describeGroups: Api<{ groups: string[] }, DescribedGroup[]> = {
  name: 'DescribeGroups',
  key: 15,
  version: 5,
  encode: (writer, request) =>
    writer
      .array(request.groups, group => writer.string(group))
      .boolean(true)
      .noTags(),
  decode: reader => {
    reader.int32()
    return reader.array(() => decodeGroup(reader))
  },
}

function decodeGroup(reader: Reader): DescribedGroup {
  const errorCode = reader.int16()
  const group = reader.string()
  const state = reader.string()
  reader.string()
  reader.string()
  const members = reader.array(() => skipMember(reader)).length
  const operations = reader.int32()
  reader.tags()
  return {
    errorCode,
    group,
    state,
    members,
    authorizedOperations: operations === OPERATIONS_UNKNOWN ? undefined : operations,
  }
}

function skipMember(reader: Reader): void {
  reader.string()
  reader.nullableString()
  reader.string()
  reader.string()
  reader.bytesRange()
  reader.bytesRange()
  reader.tags()
}
