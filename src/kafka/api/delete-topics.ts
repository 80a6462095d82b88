import type { Api } from '../wire/api.ts'

/** By its id, which no other topic ever gets, or by its name. */
export type TopicReference = { id: string } | { name: string }

export interface DeleteTopicsResponse {
  throttleMs: number
  topics: { name: string | null; id: string; errorCode: number; errorMessage: string | null }[]
}

const NO_ID = '0'.repeat(32)

/**
 * DeleteTopics v6
 *   request  => [name topic_id TAGS] timeout_ms TAGS
 *   response => throttle_time_ms [name topic_id error_code error_message TAGS] TAGS
 */
export const deleteTopicsApi: Api<{ topics: TopicReference[]; timeoutMs: number }, DeleteTopicsResponse> = {
  name: 'DeleteTopics',
  key: 20,
  version: 6,
  encode: (writer, request) =>
    writer
      .array(request.topics, topic =>
        'id' in topic ? writer.string(null).uuid(topic.id).noTags() : writer.string(topic.name).uuid(NO_ID).noTags(),
      )
      .int32(request.timeoutMs)
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
