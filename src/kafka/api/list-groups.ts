import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import { requestTable } from './request-table.ts'

interface ListGroupsResponse {
  errorCode: number
  groups: ListedGroup[]
}

export interface ListedGroup {
  group: string
  /** `consumer` is ordinary consumers, empty is a group that only ever had offsets committed; `connect` and others. */
  protocolType: string
  /** As the broker words it, such as `Stable`, `Empty`; undefined where it does not tell. */
  state: string | undefined
  /** As the broker words it: `Classic`, `Consumer`, `Share`, `Streams`; undefined where it does not tell. */
  type: string | undefined
}

/**
 * ListGroups v0 to v5, TAGS from v3 on: the groups that the asked broker coordinates, of all states and types
 *   request  => [states_filter] (v4) [types_filter] (v5) TAGS
 *   response => throttle_time_ms (v1) error_code [group_id protocol_type group_state (v4) group_type (v5) TAGS] TAGS
 */
export const listGroupsApi: Api<Record<never, never>, ListGroupsResponse> = {
  ...requestTable.listGroups,
  encode: (writer, _, version) => {
    if (version >= 4) writer.array([], () => undefined)
    if (version >= 5) writer.array([], () => undefined)
    writer.noTags()
  },
  decode: (reader, version) => {
    if (version >= 1) reader.int32()
    const errorCode = reader.int16()
    const groups = reader.array(() => {
      const listed = {
        group: reader.string(),
        protocolType: reader.string(),
        state: version >= 4 ? reader.string() : undefined,
        type: version >= 5 ? reader.string() : undefined,
      }
      reader.tags()
      return listed
    })
    return { errorCode, groups }
  },
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
 * DescribeGroups v0 to v5, with the operations that we may do, TAGS from v5 on
 *   request  => [group] include_authorized_operations (v3) TAGS
 *   response => throttle_time_ms (v1) [error_code group_id group_state protocol_type protocol_data [member]
 *               authorized_operations (v3) TAGS] TAGS
 *   member   => member_id group_instance_id (v4) client_id client_host member_metadata member_assignment TAGS
 */
export const describeGroups: Api<{ groups: string[] }, DescribedGroup[]> = {
  ...requestTable.describeGroups,
  encode: (writer, request, version) => {
    writer.array(request.groups, group => writer.string(group))
    if (version >= 3) writer.boolean(true)
    writer.noTags()
  },
  decode: (reader, version) => {
    if (version >= 1) reader.int32()
    return reader.array(() => decodeGroup(reader, version))
  },
}

function decodeGroup(reader: Reader, version: number): DescribedGroup {
  const errorCode = reader.int16()
  const group = reader.string()
  const state = reader.string()
  reader.string()
  reader.string()
  const members = reader.array(() => skipMember(reader, version)).length
  const operations = version >= 3 ? reader.int32() : OPERATIONS_UNKNOWN
  reader.tags()
  return {
    errorCode,
    group,
    state,
    members,
    authorizedOperations: operations === OPERATIONS_UNKNOWN ? undefined : operations,
  }
}

function skipMember(reader: Reader, version: number): void {
  reader.string()
  if (version >= 4) reader.nullableString()
  reader.string()
  reader.string()
  reader.bytesRange()
  reader.bytesRange()
  reader.tags()
}
