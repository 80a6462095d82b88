import type { Api } from '../wire/api.ts'

interface DeleteTopicsRequest {
  /** By name, or by ID. */
  topics: ({ name: string } | { id: string })[]
  timeoutMs: number
}

interface DeleteTopicsResponse {
  throttleMs: number
  topics: { name: string | null; id: string; errorCode: number; errorMessage: string | null }[]
}

const NO_ID = '0'.repeat(32)

/**
 * DeleteTopics v6
 *   request  => [name topic_id TAGS] timeout_ms TAGS
 *   response => throttle_time_ms [name topic_id error_code error_message TAGS] TAGS
 */
export const deleteTopicsApi: Api<DeleteTopicsRequest, DeleteTopicsResponse> = {
  name: 'DeleteTopics',
  key: 20,
  version: 6,
  encode: (writer, { topics, timeoutMs }) =>
    writer
      .array(topics, topic =>
        writer
          .string('name' in topic ? topic.name : null)
          .uuid('id' in topic ? topic.id : NO_ID)
          .noTags(),
      )
      .int32(timeoutMs)
      .noTags(),
  decode: reader => ({
    throttleMs: reader.int32(),
    topics: reader.array(() => {
      const topic = {
        name: reader.nullableString(),
        id: reader.uuid(),
        errorCode: reader.int16(),
        errorMessage: reader.nullableString(),
      }
      reader.tags()
      return topic
    }),
  }),
}
