import type { Api } from '../wire/api.ts'

export interface AlterConfigsRequest {
  topics: { name: string; changes: ConfigChange[] }[]
  /** Checks everything and changes nothing. */
  validateOnly: boolean
}

export interface ConfigChange {
  name: string
  /** Null takes the setting off the topic, so that the broker's default counts again. */
  value: string | null
}

export interface AlterConfigsResponse {
  throttleMs: number
  topics: { name: string; errorCode: number; errorMessage: string | null }[]
}

const RESOURCE_TOPIC = 2
const OPERATION_SET = 0
const OPERATION_DELETE = 1

/**
 * IncrementalAlterConfigs v1: what is not named stays; of one topic all changes are made or none
 *   request  => [resource_type resource_name [name config_operation value TAGS] TAGS] validate_only TAGS
 *   response => throttle_time_ms [error_code error_message resource_type resource_name TAGS] TAGS
 */
export const incrementalAlterConfigs: Api<AlterConfigsRequest, AlterConfigsResponse> = {
  name: 'IncrementalAlterConfigs',
  key: 44,
  version: 1,
  encode: (writer, request) =>
    writer
      .array(request.topics, topic =>
        writer
          .int8(RESOURCE_TOPIC)
          .string(topic.name)
          .array(topic.changes, ({ name, value }) =>
            writer
              .string(name)
              .int8(value === null ? OPERATION_DELETE : OPERATION_SET)
              .string(value)
              .noTags(),
          )
          .noTags(),
      )
      .boolean(request.validateOnly)
      .noTags(),
  decode: reader => ({
    throttleMs: reader.int32(),
    topics: reader.array(() => {
      const errorCode = reader.int16()
      const errorMessage = reader.nullableString()
      reader.int8()
      const name = reader.string()
      reader.tags()
      return { name, errorCode, errorMessage }
    }),
  }),
}
