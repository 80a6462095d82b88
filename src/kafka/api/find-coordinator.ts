import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import { requestTable } from './request-table.ts'

export interface FoundCoordinator {
  group: string
  /** -1 where the broker knows of none. */
  brokerId: number
  errorCode: number
  errorMessage: string | null
}

const KEY_GROUP = 0

/**
 * FindCoordinator v0 to v4, of consumer groups, TAGS from v3 on
 *   request  => key (before v4) key_type (v1) [coordinator_keys] (v4) TAGS
 *   response => throttle_time_ms (v1) [key node_id host port error_code error_message TAGS] TAGS   (v4)
 *   response => throttle_time_ms (v1) error_code error_message (v1) node_id host port TAGS   (before)
 */
export const findCoordinator: Api<{ groups: string[] }, FoundCoordinator[]> = {
  ...requestTable.findCoordinator,
  oneByOne: {
    before: 4,
    split: ({ groups }) => groups.map(group => ({ groups: [group] })),
    join: answers => answers.flat(),
  },
  encode: (writer, { groups }, version) => {
    if (version < 4) writer.string(groups[0] ?? '')
    if (version >= 1) writer.int8(KEY_GROUP)
    if (version >= 4) writer.array(groups, group => writer.string(group))
    writer.noTags()
  },
  decode: (reader, version, { groups }) => {
    if (version >= 1) reader.int32()
    if (version >= 4) return reader.array(() => decodeFound(reader))
    const errorCode = reader.int16()
    const errorMessage = version >= 1 ? reader.nullableString() : null
    return [{ group: groups[0] ?? '', brokerId: reader.int32(), errorCode, errorMessage }]
  },
}

function decodeFound(reader: Reader): FoundCoordinator {
  const group = reader.string()
  const brokerId = reader.int32()
  reader.string()
  reader.int32()
  const found = { group, brokerId, errorCode: reader.int16(), errorMessage: reader.nullableString() }
  reader.tags()
  return found
}
