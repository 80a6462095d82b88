import type { Api } from '../wire/api.ts'

/**
 * DeleteGroups v2
 *   request  => [groups_names] TAGS
 *   response => throttle_time_ms [group_id error_code TAGS] TAGS
 */
export const deleteGroupsApi: Api<{ groups: string[] }, { group: string; errorCode: number }[]> = {
  name: 'DeleteGroups',
  key: 42,
  version: 2,
  encode: (writer, request) => writer.array(request.groups, group => writer.string(group)).noTags(),
  decode: reader => {
    reader.int32()
    return reader.array(() => {
      const answer = { group: reader.string(), errorCode: reader.int16() }
      reader.tags()
      return answer
    })
  },
}
