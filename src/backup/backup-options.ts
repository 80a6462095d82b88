/** What a backup is asked to do. The job file is turned into this. */
export interface BackupOptions {
  backupId: string
  topics: TopicSelection
  compression: 'auto' | 'none' | 'zstd'
  segmentBytes: number
  /** Runs until it is stopped. */
  continuous: boolean
  commitIntervalMs: number
  /** A continuous run begins with version 2 of the format; otherwise it continues the version that the backup has. */
  beginsLog?: boolean
  /** A continuous run of version 2 makes segments of small appends after this time; a day unless told. */
  mergeAfterMs?: number
  /** How often a continuous run reads settings, schemas, groups and access rules; absent: in every round. */
  pollIntervalMs?: number
  /** Bytes of batches read a second, all connections together. */
  bytesPerSecond?: number
  /** The rack of this process; brokers with racks then allow reading from a nearby replica. */
  clientRack?: string
  memoryBudgetBytes: number
  connectionsPerBroker: number
  missingTopics: 'fail' | 'warn'
  onGap: 'warn' | 'fail'
  /** What happens where the source lost records that the backup holds; see `planBackup`. */
  onTruncation: 'fail' | 'new_incarnation'
  /** Topics that start a new incarnation in this run, whatever their logs look like. */
  newIncarnations?: readonly string[]
  /** Whether compacted partitions are read again from the log start; `auto` where tombstones may have been missed. */
  compactedReread?: 'auto' | 'never' | 'always'
  /** How long a continuous run waits after one such reading began before it begins the next. */
  compactedRereadIntervalMs?: number
}

export interface TopicSelection {
  include: readonly string[]
  exclude: readonly string[]
}
