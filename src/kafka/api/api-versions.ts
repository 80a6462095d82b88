import type { Api } from '../wire/api.ts'
import { requestTable } from './request-table.ts'

export interface ApiRange {
  key: number
  min: number
  max: number
}

interface ApiVersionsResponse {
  errorCode: number
  ranges: ApiRange[]
}

export const UNSUPPORTED_VERSION = 35

/**
 * ApiVersions v0 to v3, TAGS from v3 on
 *   request  => client_software_name (v3) client_software_version (v3) TAGS
 *   response => error_code [api_key min_version max_version TAGS] throttle_time_ms (v1) TAGS
 * Its response header never has tags. A broker that does not know the version answers UNSUPPORTED_VERSION in version 0.
 */
export const apiVersions: Api<{ name: string; version: string }, ApiVersionsResponse> = {
  ...requestTable.apiVersions,
  encode: (writer, request, version) => {
    if (version >= 3) writer.string(request.name).string(request.version)
    writer.noTags()
  },
  decode: reader => {
    const errorCode = reader.int16()
    if (errorCode !== 0) return { errorCode, ranges: [] }
    const ranges = reader.array(() => {
      const range = { key: reader.int16(), min: reader.int16(), max: reader.int16() }
      reader.tags()
      return range
    })
    return { errorCode, ranges }
  },
}
