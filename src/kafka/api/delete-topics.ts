import type { Api } from '../wire/api.ts'
import { requestTable } from './request-table.ts'

interface DeleteTopicsRequest {
  /** By ID where it is given and the version has IDs, or else by name. */
  topics: { name: string; id?: string | undefined }[]
  timeoutMs: number
}

interface DeleteTopicsResponse {
  throttleMs: number
  topics: { name: string | null; errorCode: number; errorMessage: string | null }[]
}

const NO_ID = '0'.repeat(32)

/**
 * DeleteTopics v1 to v6, TAGS from v4 on
 *   request  => [name topic_id TAGS] (v6) [name] (before) timeout_ms TAGS
 *   response => throttle_time_ms [name topic_id (v6) error_code error_message (v5) TAGS] TAGS
 */
export const deleteTopicsApi: Api<DeleteTopicsRequest, DeleteTopicsResponse> = {
  ...requestTable.deleteTopics,
  encode: (writer, { topics, timeoutMs }, version) =>
    writer
      .array(topics, ({ name, id }) =>
        version < 6
          ? writer.string(name)
          : writer
              .string(id === undefined ? name : null)
              .uuid(id ?? NO_ID)
              .noTags(),
      )
      .int32(timeoutMs)
      .noTags(),
  decode: (reader, version) => ({
    throttleMs: reader.int32(),
    topics: reader.array(() => {
      const name = reader.nullableString()
      if (version >= 6) reader.uuid()
      const errorCode = reader.int16()
      const errorMessage = version >= 5 ? reader.nullableString() : null
      reader.tags()
      return { name, errorCode, errorMessage }
    }),
  }),
}
