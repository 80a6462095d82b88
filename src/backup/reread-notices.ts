import { formatDuration } from '../lib/units.ts'
import type { BackupPlan, PlannedPartition, RereadReason, RereadRules } from './backup-plan.ts'

/** Partitions of a compacted topic that a run reads again from the start of their logs, and why. */
export interface RereadNotice {
  topic: string
  partitions: number
  reason: RereadReason
  /** How long the topic keeps tombstones. */
  deleteRetentionMs: number
  /** An earlier run has begun. */
  isResumed: boolean
}

/** Pure. One for each topic and reason. */
export function noticeRereads({ topics }: Pick<BackupPlan, 'topics'>): RereadNotice[] {
  return topics.flatMap(({ name, partitions }) => {
    const planned = partitions.filter(({ reread }) => reread !== undefined)
    return [...Map.groupBy(planned, ({ reread }) => reread?.reason ?? 'always')].map(([reason, some]) => ({
      topic: name,
      partitions: some.length,
      reason,
      deleteRetentionMs: some[0]?.compacted?.deleteRetentionMs ?? 0,
      isResumed: some.some(({ reread }) => (reread?.durable.segments ?? 0) > 0),
    }))
  })
}

export function describeReread({ topic, partitions, reason, deleteRetentionMs, isResumed }: RereadNotice): string {
  const what = partitions === 1 ? '1 partition' : `${partitions} partitions`
  const how = isResumed ? 'continues to read' : 'reads'
  return `topic ${topic}: ${how} ${what} again from the log start: ${describeReason(reason, deleteRetentionMs)}`
}

/** Pure. Warnings of topics that may hold deleted keys, and are not read again by this run. */
export function warnUnread({ topics }: Pick<BackupPlan, 'topics'>, { mode }: RereadRules): string[] {
  const why =
    mode === 'never'
      ? 'backup.compacted_reread: never'
      : 'a later round reads it again: backup.compacted_reread_interval'
  return topics.flatMap(({ name, state, partitions }) => {
    const count = state === 'current' ? partitions.filter(isLeft).length : 0
    if (count === 0) return []
    const what = count === 1 ? '1 partition' : `${count} partitions`
    return [`topic ${name}: ${what} may hold keys that were deleted at the source (${why})`]
  })
}

/** Pure. Warnings of topics whose list is to begin later, since records have expired at the source that the backup holds. */
export function warnExpired({ topics }: Pick<BackupPlan, 'topics'>): string[] {
  return topics.flatMap(({ name, partitions }) => {
    const count = partitions.filter(isShortened).length
    if (count === 0) return []
    const what = count === 1 ? '1 partition' : `${count} partitions`
    const later =
      'only older generations hold them when it was read again from its log start, until prune removes those'
    return [`topic ${name}: records of ${what} have expired at the source; ${later} (backup.compacted_reread)`]
  })
}

function isShortened({ durable, reread }: PlannedPartition): boolean {
  return reread !== undefined && durable.records > 0 && durable.start_offset < reread.durable.start_offset
}

function isLeft({ durable, compacted, reread }: PlannedPartition): boolean {
  return compacted !== undefined && reread === undefined && durable.compaction?.may_hold_deleted_keys === true
}

function describeReason(reason: RereadReason, deleteRetentionMs: number): string {
  const term = `tombstones stay for ${formatDuration(deleteRetentionMs)} (delete.retention.ms)`
  switch (reason) {
    case 'late':
      return `it was last read so long ago that deletions may have been missed; ${term}`
    case 'suspect':
      return `an earlier run may have missed deletions; ${term}`
    case 'unknown':
      return 'the backup does not say when it was read, and may have missed deletions'
    case 'size':
      return 'the backup holds more than twice what the source holds'
    case 'growth':
      return 'the backup holds more than twice what it held when the log was last read from its start'
    case 'always':
      return 'backup.compacted_reread: always'
  }
}
