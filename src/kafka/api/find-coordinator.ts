import type { Api } from '../wire/api.ts'

export interface FoundCoordinator {
  group: string
  /** -1 where the broker knows of none. */
  brokerId: number
  errorCode: number
  errorMessage: string | null
}

const KEY_GROUP = 0

/**
 * FindCoordinator v4, of consumer groups
 *   request  => key_type [coordinator_keys] TAGS
 *   response => throttle_time_ms [key node_id host port error_code error_message TAGS] TAGS
 */
export const findCoordinator: Api<{ groups: string[] }, FoundCoordinator[]> = {
  name: 'FindCoordinator',
  key: 10,
  version: 4,
  encode: (writer, request) =>
    writer
      .int8(KEY_GROUP)
      .array(request.groups, group => writer.string(group))
      .noTags(),
  decode: reader => {
    reader.int32()
    return reader.array(() => {
      const group = reader.string()
      const brokerId = reader.int32()
      reader.string()
      reader.int32()
      const found = { group, brokerId, errorCode: reader.int16(), errorMessage: reader.nullableString() }
      reader.tags()
      return found
    })
  },
}
