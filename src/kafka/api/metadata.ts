import type { Api } from '../wire/api.ts'
import type { Reader } from '../wire/reader.ts'
import { requestTable } from './request-table.ts'

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
  /** Of a cluster that gives topics none, what `idOfName` makes of the name. */
  id: string
  isInternal: boolean
  partitions: MetadataPartition[]
  /** Bits by operation code; undefined where it was not asked for, or the broker does not tell. */
  authorizedOperations: number | undefined
}

interface MetadataPartition {
  errorCode: number
  partition: number
  leader: number
  /** -1 is unknown. */
  leaderEpoch: number
  replicas: number[]
}

const OPERATIONS_UNKNOWN = -2147483648

/** The ID of a topic where the broker gives it none, or does not tell it. */
export const NO_TOPIC_ID = '0'.repeat(32)

/**
 * Metadata v4 to v12, TAGS from v9 on
 *   request  => [topic_id (v10) name TAGS] allow_auto_topic_creation include_cluster_authorized_operations (v8 to v10)
 *               include_topic_authorized_operations (v8) TAGS
 *   response => throttle_time_ms [node_id host port rack TAGS] cluster_id controller_id [topic]
 *               cluster_authorized_operations (v8 to v10) TAGS
 *   topic     => error_code name topic_id (v10) is_internal [partition] topic_authorized_operations (v8) TAGS
 *   partition => error_code partition_index leader_id leader_epoch (v7) [replica_nodes] [isr_nodes] [offline_replicas] (v5)
 *                TAGS
 * What follows the topics is not read.
 */
export const metadata: Api<MetadataRequest, MetadataResponse> = {
  ...requestTable.metadata,
  encode: (writer, { topics, withAuthorizedOperations = false }, version) => {
    writer.array(topics, name => {
      if (version >= 10) writer.uuid(NO_TOPIC_ID)
      writer.string(name).noTags()
    })
    writer.boolean(false)
    if (version >= 8 && version <= 10) writer.boolean(false)
    if (version >= 8) writer.boolean(withAuthorizedOperations)
    writer.noTags()
  },
  decode: (reader, version) => {
    reader.int32()
    const brokers = reader.array(() => {
      const broker = { id: reader.int32(), host: reader.string(), port: reader.int32(), rack: reader.nullableString() }
      reader.tags()
      return broker
    })
    const clusterId = reader.nullableString()
    const controllerId = reader.int32()
    return { brokers, clusterId, controllerId, topics: reader.array(() => decodeTopic(reader, version)) }
  },
}

function decodeTopic(reader: Reader, version: number): MetadataTopic {
  const errorCode = reader.int16()
  const name = reader.nullableString() ?? ''
  const topic = {
    errorCode,
    name,
    id: version >= 10 ? reader.uuid() : NO_TOPIC_ID,
    isInternal: reader.boolean(),
    partitions: reader.array(() => decodePartition(reader, version)),
  }
  const operations = version >= 8 ? reader.int32() : OPERATIONS_UNKNOWN
  reader.tags()
  return { ...topic, authorizedOperations: operations === OPERATIONS_UNKNOWN ? undefined : operations }
}

function decodePartition(reader: Reader, version: number): MetadataPartition {
  const partition = {
    errorCode: reader.int16(),
    partition: reader.int32(),
    leader: reader.int32(),
    leaderEpoch: version >= 7 ? reader.int32() : -1,
    replicas: reader.array(() => reader.int32()),
  }
  reader.skipInt32s()
  if (version >= 5) reader.skipInt32s()
  reader.tags()
  return partition
}
