import type { Api } from '../wire/api.ts'

export interface ApiRange {
  key: number
  min: number
  max: number
}

/**
 * ApiVersions v3
 *   request  => client_software_name client_software_version TAGS
 *   response => error_code [api_key min_version max_version TAGS] throttle_time_ms TAGS
 * Its response header has no tags, unlike that of every other flexible request.
 */
export const apiVersions: Api<{ name: string; version: string }, { errorCode: number; ranges: ApiRange[] }> = {
  name: 'ApiVersions',
  key: 18,
  version: 3,
  encode: (writer, request) => writer.string(request.name).string(request.version).noTags(),
  decode: reader => {
    const errorCode = reader.int16()
    // A broker that does not know this version answers with the error and a body of version 0.
    if (errorCode !== 0) return { errorCode, ranges: [] }
    const ranges = reader.array(() => {
      const range = { key: reader.int16(), min: reader.int16(), max: reader.int16() }
      reader.tags()
      return range
    })
    return { errorCode, ranges }
  },
}
