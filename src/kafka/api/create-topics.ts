import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import type { Writer } from '../wire/writer.ts'
import { requestTable } from './request-table.ts'
import type { DescribedConfigs } from './topic-configs.ts'

interface CreateTopicsRequest {
  topics: NewTopic[]
  timeoutMs: number
  /** Checks everything and creates nothing. */
  validateOnly: boolean
}

export interface NewTopic {
  name: string
  /** A count of copies, -1 for the broker's default; or the brokers of each partition. */
  replication: number | readonly (readonly number[])[]
  partitions: number
  configs: Readonly<Record<string, string>>
}

export interface CreateTopicsResponse {
  throttleMs: number
  topics: {
    name: string
    /** Undefined where the broker does not tell it here. */
    id: string | undefined
    errorCode: number
    errorMessage: string | null
    /** All settings that the topic has, or would have; empty where the broker does not tell them, or not this user (DescribeConfigs). */
    configs: DescribedConfigs['configs']
  }[]
}

/**
 * CreateTopics v2 to v7, TAGS from v5 on
 *   request    => [name num_partitions replication_factor [assignment] [config] TAGS] timeout_ms validate_only TAGS
 *   assignment => partition_index [broker_ids] TAGS
 *   config     => name value TAGS
 *   response   => throttle_time_ms [topic] TAGS
 *   topic      => name topic_id (v7) error_code error_message num_partitions (v5) replication_factor (v5)
 *                 [name value read_only config_source is_sensitive TAGS] (v5) TAGS
 * A replication factor of -1, the broker's default, is known from v4 on; before, a trial that creates nothing has one copy.
 */
export const createTopicsApi: Api<CreateTopicsRequest, CreateTopicsResponse> = {
  ...requestTable.createTopics,
  encode: (writer, request, version) =>
    writer
      .array(request.topics, topic => encodeTopic(writer, topic, request.validateOnly && version < 4 ? 1 : -1))
      .int32(request.timeoutMs)
      .boolean(request.validateOnly)
      .noTags(),
  decode: (reader, version) => ({
    throttleMs: reader.int32(),
    topics: reader.array(() => decodeTopic(reader, version)),
  }),
}

/** Where brokers are assigned by hand, the counts have to be -1. */
function encodeTopic(
  writer: Writer,
  { name, partitions, replication, configs }: NewTopic,
  defaultReplication: number,
): void {
  const isCount = typeof replication === 'number'
  const assignment = isCount ? [] : [...replication.entries()]
  writer
    .string(name)
    .int32(isCount ? partitions : -1)
    .int16(!isCount ? -1 : replication === -1 ? defaultReplication : replication)
    .array(assignment, ([partition, brokers]) =>
      writer
        .int32(partition)
        .array(brokers, broker => writer.int32(broker))
        .noTags(),
    )
    .array(Object.entries(configs), ([key, value]) => writer.string(key).string(value).noTags())
    .noTags()
}

function decodeTopic(reader: Reader, version: number): CreateTopicsResponse['topics'][number] {
  const topic = {
    name: reader.string(),
    id: version >= 7 ? reader.uuid() : undefined,
    errorCode: reader.int16(),
    errorMessage: reader.nullableString(),
  }
  if (version < 5) return { ...topic, configs: [] }
  reader.int32()
  reader.int16()
  const configs = reader.array(() => decodeConfig(reader))
  reader.tags()
  return { ...topic, configs }
}

function decodeConfig(reader: Reader): DescribedConfigs['configs'][number] {
  const name = reader.string()
  const value = reader.nullableString()
  reader.boolean()
  const config = { name, value, source: reader.int8(), isSensitive: reader.boolean() }
  reader.tags()
  return config
}
