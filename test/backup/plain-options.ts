import type { BackupOptions } from '../../src/backup/backup-options.ts'

/** All topics to the backup `b1`, by a single run. */
export function plainOptions(changes: Partial<BackupOptions> = {}): BackupOptions {
  return {
    backupId: 'b1',
    topics: { include: ['*'], exclude: [] },
    compression: 'none',
    segmentBytes: 1 << 20,
    continuous: false,
    commitIntervalMs: 60_000,
    memoryBudgetBytes: 4 << 20,
    connectionsPerBroker: 2,
    missingTopics: 'fail',
    onGap: 'warn',
    onTruncation: 'fail',
    ...changes,
  }
}
