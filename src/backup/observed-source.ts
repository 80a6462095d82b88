import type { PartitionBounds } from '../kafka/offsets.ts'

export interface ObservedSource {
  /** Before anything was asked: whatever was written by then is below the ends that were observed. */
  observedAt: string
  clusterId: string | null
  brokers: number
  topics: ObservedTopic[]
  /** All topics that the cluster shows, selected or not. */
  visible: ReadonlySet<string>
  warnings: string[]
  /** What is reported once, and is not a warning. */
  notes?: string[]
}

export interface ObservedTopic {
  name: string
  id: string
  internal: boolean
  replicationFactor: number
  configs: Record<string, string>
  /** The values in force of the settings that decide which records it keeps. */
  effectiveConfigs: Record<string, string>
  partitions: ObservedPartition[]
  /** Partitions that cannot be read at the moment. */
  leaderless: number[]
}

export interface ObservedPartition {
  partition: number
  bounds: PartitionBounds
  /** Bytes of its log on the leader's disk; `denied` where the brokers do not tell, absent where they were not asked. */
  sizeBytes?: number | 'denied'
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
