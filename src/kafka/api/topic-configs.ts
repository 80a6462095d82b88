import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import type { Writer } from '../wire/writer.ts'
import { requestTable } from './request-table.ts'

export interface DescribedConfigs {
  errorCode: number
  errorMessage: string | null
  /** All settings in force, each with where it comes from. */
  configs: DescribedConfig[]
}

interface DescribedConfig {
  name: string
  value: string | null
  source: number
  isSensitive: boolean
  /** What would be in force without it, under the names of the broker, the most specific first; absent where not asked for. */
  synonyms?: { name: string; value: string | null; source: number }[]
}

interface DescribedTopicConfigs extends DescribedConfigs {
  topic: string
}

/** The source of a setting of the topic itself. */
export const SOURCE_TOPIC = 1
const RESOURCE_TOPIC = 2
const RESOURCE_BROKER = 4

/**
 * DescribeConfigs v1 to v4, TAGS from v4 on
 *   request  => [resource_type resource_name [configuration_keys] TAGS] include_synonyms include_documentation (v3) TAGS
 *   response => throttle_time_ms [error_code error_message resource_type resource_name [config] TAGS] TAGS
 *   config   => name value read_only config_source is_sensitive [name value source TAGS] config_type (v3)
 *               documentation (v3) TAGS
 */
export const describeConfigs: Api<{ topics: string[] }, DescribedTopicConfigs[]> = {
  ...requestTable.describeConfigs,
  encode: (writer, request, version) => encodeResources(writer, version, RESOURCE_TOPIC, request.topics),
  decode: (reader, version) =>
    decodeResources(reader, version).map(({ name, ...described }) => ({ topic: name, ...described })),
}

/** The same with the settings of the brokers that those of a topic hide. */
export const describeConfigsWithSynonyms: typeof describeConfigs = {
  ...describeConfigs,
  encode: (writer, request, version) => encodeResources(writer, version, RESOURCE_TOPIC, request.topics, true),
}

/** The same request for the settings of a broker, which only that broker itself answers. */
export const describeBrokerConfigs: Api<{ brokerId: number }, DescribedConfigs[]> = {
  ...requestTable.describeConfigs,
  encode: (writer, { brokerId }, version) => encodeResources(writer, version, RESOURCE_BROKER, [String(brokerId)]),
  decode: (reader, version) => decodeResources(reader, version).map(({ name: _, ...described }) => described),
}

function encodeResources(
  writer: Writer,
  version: number,
  type: number,
  names: readonly string[],
  hasSynonyms = false,
): void {
  writer.array(names, name =>
    writer
      .int8(type)
      .string(name)
      .array(null, () => undefined)
      .noTags(),
  )
  writer.boolean(hasSynonyms)
  if (version >= 3) writer.boolean(false)
  writer.noTags()
}

function decodeResources(reader: Reader, version: number): (DescribedConfigs & { name: string })[] {
  reader.int32()
  return reader.array(() => {
    const errorCode = reader.int16()
    const errorMessage = reader.nullableString()
    reader.int8()
    const name = reader.string()
    const configs = reader.array(() => decodeConfig(reader, version))
    reader.tags()
    return { name, errorCode, errorMessage, configs }
  })
}

function decodeConfig(reader: Reader, version: number): DescribedConfigs['configs'][number] {
  const name = reader.string()
  const value = reader.nullableString()
  reader.boolean()
  const source = reader.int8()
  const isSensitive = reader.boolean()
  const synonyms = reader.array(() => {
    const synonym = { name: reader.string(), value: reader.nullableString(), source: reader.int8() }
    reader.tags()
    return synonym
  })
  if (version >= 3) {
    reader.int8()
    reader.nullableString()
  }
  reader.tags()
  return { name, value, source, isSensitive, ...(synonyms.length > 0 && { synonyms }) }
}

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

const OPERATION_SET = 0
const OPERATION_DELETE = 1

/**
 * IncrementalAlterConfigs v0 and v1, the latter with TAGS: what is not named stays; of one topic all changes are made or none
 *   request  => [resource_type resource_name [name config_operation value TAGS] TAGS] validate_only TAGS
 *   response => throttle_time_ms [error_code error_message resource_type resource_name TAGS] TAGS
 */
export const incrementalAlterConfigs: Api<AlterConfigsRequest, AlterConfigsResponse> = {
  ...requestTable.incrementalAlterConfigs,
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
  decode: decodeAltered,
}

interface ReplaceConfigsRequest {
  topics: { name: string; configs: Readonly<Record<string, string>> }[]
  validateOnly: boolean
}

/**
 * AlterConfigs v0 to v2, TAGS from v2 on: what is not named is taken off the topic
 *   request  => [resource_type resource_name [name value TAGS] TAGS] validate_only TAGS
 *   response => throttle_time_ms [error_code error_message resource_type resource_name TAGS] TAGS
 */
export const alterConfigs: Api<ReplaceConfigsRequest, AlterConfigsResponse> = {
  ...requestTable.alterConfigs,
  encode: (writer, { topics, validateOnly }) =>
    writer
      .array(topics, ({ name, configs }) =>
        writer
          .int8(RESOURCE_TOPIC)
          .string(name)
          .array(Object.entries(configs), ([key, value]) => writer.string(key).string(value).noTags())
          .noTags(),
      )
      .boolean(validateOnly)
      .noTags(),
  decode: decodeAltered,
}

function decodeAltered(reader: Reader): AlterConfigsResponse {
  const throttleMs = reader.int32()
  const topics = reader.array(() => {
    const errorCode = reader.int16()
    const errorMessage = reader.nullableString()
    reader.int8()
    const name = reader.string()
    reader.tags()
    return { name, errorCode, errorMessage }
  })
  return { throttleMs, topics }
}
