import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'

export interface MetadataRequest {
  /** Null asks for all topics. */
  topics: string[] | null
  withAuthorizedOperations?: boolean
}

export interface MetadataResponse {
  brokers: { id: number; host: string; port: number; rack: string | null }[]
  clusterId: string | null
  controllerId: number
  topics: MetadataTopic[]
}

export interface MetadataTopic {
  errorCode: number
  name: string
  id: string
  isInternal: boolean
  partitions: MetadataPartition[]
  /** Bits by operation code; undefined when it was not asked for. */
  authorizedOperations: number | undefined
}

interface MetadataPartition {
  errorCode: number
  partition: number
  leader: number
  leaderEpoch: number
  replicas: number[]
}

const OPERATIONS_UNKNOWN = -2147483648

/**
 * Metadata v12
 *   request  => [topic_id name TAGS] allow_auto_topic_creation include_topic_authorized_operations TAGS
 *   response => throttle_time_ms [node_id host port rack TAGS] cluster_id controller_id
 *               [error_code name topic_id is_internal [partition] topic_authorized_operations TAGS] TAGS
 *   partition => error_code partition_index leader_id leader_epoch [replica_nodes] [isr_nodes] [offline_replicas] TAGS
 */
export const metadata: Api<MetadataRequest, MetadataResponse> = {
  name: 'Metadata',
  key: 3,
  version: 12,
  encode: (writer, request) =>
    writer
      .array(request.topics, name => writer.uuid('0'.repeat(32)).string(name).noTags())
      .boolean(false)
      .boolean(request.withAuthorizedOperations ?? false)
      .noTags(),
  decode: reader => {
    reader.int32()
    const brokers = reader.array(() => {
      const broker = { id: reader.int32(), host: reader.string(), port: reader.int32(), rack: reader.nullableString() }
      reader.tags()
      return broker
    })
    const clusterId = reader.nullableString()
    const controllerId = reader.int32()
    return { brokers, clusterId, controllerId, topics: reader.array(() => decodeTopic(reader)) }
  },
}

function decodeTopic(reader: Reader): MetadataTopic {
  const errorCode = reader.int16()
  const name = reader.nullableString() ?? ''
  const topic = {
    errorCode,
    name,
    id: reader.uuid(),
    isInternal: reader.boolean(),
    partitions: reader.array(() => decodePartition(reader)),
  }
  const operations = reader.int32()
  reader.tags()
  return { ...topic, authorizedOperations: operations === OPERATIONS_UNKNOWN ? undefined : operations }
}

function decodePartition(reader: Reader): MetadataPartition {
  const partition = {
    errorCode: reader.int16(),
    partition: reader.int32(),
    leader: reader.int32(),
    leaderEpoch: reader.int32(),
    replicas: reader.array(() => reader.int32()),
  }
  reader.array(() => reader.int32())
  reader.array(() => reader.int32())
  reader.tags()
  return partition
}
