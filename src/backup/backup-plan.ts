import type { Gap, Manifest, ManifestPartition, ManifestTopic } from '../archive/manifest.ts'

/** What a plan must know of the state that is durable already. */
export type KnownState = Pick<Manifest, 'backup_id' | 'cluster' | 'topics' | 'consumer_groups' | 'topic_settings_at'>

export interface BackupPlan {
  /** Every topic of the manifest to be, those of earlier runs that this one does not touch included. */
  topics: PlannedTopic[]
  warnings: string[]
  /** What is reported once, and is not a warning. */
  notes?: string[]
  /** Of sections that an earlier round has read, and reported: they belong to the generation, and are not reported again. */
  carriedWarnings?: string[]
}

export interface PlannedTopic extends Omit<ManifestTopic, 'partitions'> {
  partitions: PlannedPartition[]
}

/** What the copying needs to know of a topic. */
export type CopiedTopic = Pick<ManifestTopic, 'name' | 'id'> &
  Partial<Pick<ManifestTopic, 'incarnation' | 'kafka_id' | 'configs' | 'effective_configs'>>

export interface PlannedPartition {
  /** What is durable, with the gaps that are known already. */
  durable: ManifestPartition
  /** Copied up to here; at or below `durable.end_offset` there is nothing to do. */
  end: bigint
  /** Where the source's log starts now. */
  logStart: bigint
  newGaps: Gap[]
  /** Where its log is, or was, compacted. */
  compacted?: PlannedCompaction
  /** Where it is read again from the start of the log. */
  reread?: PlannedReread
}

/** When compacted partitions are read again from the start of their logs. */
export interface RereadRules {
  mode: 'auto' | 'never' | 'always'
  /** So long after a reading began none is begun again: a continuous run would read without end. */
  intervalMs: number
}

/** What a plan knows of a partition whose log is compacted. */
export interface PlannedCompaction {
  /** When the source was observed, before the end of the partition was asked for. */
  observedAt: string
  deleteRetentionMs: number
  /** False if the topic was compacted before, but is not now. */
  isCompacted: boolean
}

/** A list of segments that takes the place of the partition's own when it reaches the end. */
export interface PlannedReread {
  durable: ManifestPartition
  reason: RereadReason
}

/**
 *   late     a tombstone may have come and gone since the last read
 *   suspect  an earlier run has missed tombstones, or may have
 *   unknown  the backup does not say when the partition was read
 *   size     the backup holds more than twice what the source holds
 *   growth   the source does not tell its size, and the backup holds more than twice what it held after the last reading
 *   always   the job asks for it
 */
export type RereadReason = 'late' | 'suspect' | 'unknown' | 'size' | 'growth' | 'always'
