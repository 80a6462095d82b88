import type { MetadataTopic } from '../kafka/api/metadata.ts'
import type { PartitionBounds } from '../kafka/offsets.ts'

export interface ObservedSource {
  /** Before anything was asked: whatever was written by then is below the ends that were observed. */
  observedAt: string
  clusterId: string | null
  brokers: number
  topics: ObservedTopic[]
  /** The selected topics with their leaders, as the cluster showed them. */
  shown?: readonly MetadataTopic[]
  /** All topics that the cluster shows, selected or not. */
  visible: ReadonlySet<string>
  warnings: string[]
  /** What is reported once, and is not a warning. */
  notes?: string[]
}

export interface ObservedTopic {
  name: string
  /** Under which the backup holds it. */
  id: string
  /** The ID that the cluster gives it, where the backup holds it under another. */
  kafkaId?: string
  /** Nothing shows that it is the topic that is stored under this ID. */
  startsOver?: boolean
  internal: boolean
  replicationFactor: number
  configs: Record<string, string>
  /** The values in force of the settings that decide which records it keeps. */
  effectiveConfigs: Record<string, string>
  /** The brokers have no request for settings: both of the above are empty. */
  hasUnknownSettings?: true
  partitions: ObservedPartition[]
  /** Partitions that cannot be read at the moment. */
  leaderless: number[]
}

export interface ObservedPartition {
  partition: number
  bounds: PartitionBounds
  /** Bytes of its log on the leader's disk; `denied` where the brokers do not tell, absent where they were not asked. */
  sizeBytes?: number | 'denied'
  /** The topic has no ID, and its log starts behind what is stored, which its retention does not explain, or has moved back. */
  isStrangeStart?: boolean
  /** The topic has no ID, and its log has another batch where the stored one ends. */
  isOtherTail?: boolean
  /** The log is not the one that the backup holds. */
  divergence?: Divergence
}

/** A log that is not the one that was backed up: it was truncated, and has grown again since. */
export interface Divergence {
  /** The leader epoch of the last batch in the backup. */
  storedEpoch: number
  /** Where that epoch ends at the source; undefined where the source does not have it. */
  endOffset: bigint | undefined
}
