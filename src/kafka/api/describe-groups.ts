import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'

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
