import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import type { RestoreRequest } from '../../src/restore/survey-restore.ts'

/** Everything of the backup `b1` to where it came from. */
export function plainOptions(changes: Partial<RestoreOptions> = {}): RestoreOptions {
  return {
    backupId: 'b1',
    topics: { include: ['*'], exclude: [] },
    topicMapping: new Map(),
    partitions: new Map(),
    offsetRanges: new Map(),
    timeWindow: {},
    partitionCount: new Map(),
    partitionMapping: new Map(),
    repartition: 'keep',
    createTopics: true,
    topicConfig: new Map(),
    existingTopics: 'fail',
    retention: 'fail',
    offsetHeaders: false,
    verify: false,
    commitIntervalMs: 5000,
    batchBytes: 1 << 20,
    memoryBudgetBytes: 96 << 20,
    connectionsPerBroker: 2,
    ...changes,
  }
}

/** A restore of topics and records alone. */
export function recordsOnly(records: RestoreOptions): RestoreRequest {
  return {
    records,
    groups: { include: [], exclude: [], mapping: new Map() },
    access: { acls: false, quotas: false, users: false },
  }
}
