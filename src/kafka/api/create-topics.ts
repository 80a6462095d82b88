import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import type { Writer } from '../wire/writer.ts'
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
    id: string
    errorCode: number
    errorMessage: string | null
    /** All settings that the topic has, or would have; empty where the user may not read them (DescribeConfigs on the topic). */
    configs: DescribedConfigs['configs']
  }[]
}

/**
 * CreateTopics v7
 *   request    => [name num_partitions replication_factor [assignment] [config] TAGS] timeout_ms validate_only TAGS
 *   assignment => partition_index [broker_ids] TAGS
 *   config     => name value TAGS
 *   response   => throttle_time_ms [topic] TAGS
 *   topic      => name topic_id error_code error_message num_partitions replication_factor
 *                 [name value read_only config_source is_sensitive TAGS] TAGS
 */
export const createTopicsApi: Api<CreateTopicsRequest, CreateTopicsResponse> = {
  name: 'CreateTopics',
  key: 19,
  version: 7,
  encode: (writer, request) =>
    writer
      .array(request.topics, topic => encodeTopic(writer, topic))
      .int32(request.timeoutMs)
      .boolean(request.validateOnly)
      .noTags(),
  decode: reader => ({ throttleMs: reader.int32(), topics: reader.array(() => decodeTopic(reader)) }),
}

/** Where brokers are assigned by hand, the counts have to be -1. */
function encodeTopic(writer: Writer, { name, partitions, replication, configs }: NewTopic): void {
  const isCount = typeof replication === 'number'
  const assignment = isCount ? [] : [...replication.entries()]
  writer
    .string(name)
    .int32(isCount ? partitions : -1)
    .int16(isCount ? replication : -1)
    .array(assignment, ([partition, brokers]) =>
      writer
        .int32(partition)
        .array(brokers, broker => writer.int32(broker))
        .noTags(),
    )
    .array(Object.entries(configs), ([key, value]) => writer.string(key).string(value).noTags())
    .noTags()
}

function decodeTopic(reader: Reader): CreateTopicsResponse['topics'][number] {
  const topic = {
    name: reader.string(),
    id: reader.uuid(),
    errorCode: reader.int16(),
    errorMessage: reader.nullableString(),
  }
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
