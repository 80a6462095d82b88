/** What a backup is asked to do. The job file is turned into this. */
export interface BackupOptions {
  backupId: string
  topics: TopicSelection
  compression: 'auto' | 'none' | 'zstd'
  segmentBytes: number
  commitIntervalMs: number
  memoryBudgetBytes: number
  connectionsPerBroker: number
  missingTopics: 'fail' | 'warn'
  onGap: 'warn' | 'fail'
}

export interface TopicSelection {
  include: readonly string[]
  exclude: readonly string[]
}
