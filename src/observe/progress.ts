/** Events of a long operation. Listeners turn them into a bar, log lines or metrics. */
export type GapReason =
  | 'retention'
  | 'topic_deleted'
  | 'topic_recreated'
  | 'source_truncated'
  | 'unreadable'
  | 'damaged'

export type ProgressEvent =
  /** The generation that a run continues from. */
  | { type: 'resumed'; generation: number; committedAt: string }
  /**
   * The planned work. A restore counts the records that it writes in place of offsets, about as many as there are, or with `isMost` at most so
   * many, because a time window may leave fewer; `byTopic` has the same for each topic of the target. What
   * follows a plan with another phase is counted from zero.
   */
  | {
      type: 'planned'
      topics: number
      partitions: number
      offsets: bigint
      unit?: 'records'
      isMost?: boolean
      phase?: 'compare'
      byTopic?: readonly PlannedRecords[]
    }
  /** A restore turns to a partition. */
  | { type: 'begun'; topic: string; partition: number }
  /**
   * Records were copied. Progress is counted in offsets, the one measure whose total is known beforehand. With `isReread` they
   * are of a compacted partition that is read again from its log start.
   */
  | {
      type: 'copied'
      topic: string
      partition: number
      offsets: bigint
      records: number
      bytes: number
      isReread?: true
    }
  /** A run has written all its records of a topic of the target, a shard those of its partitions: `done` of so many topics. */
  | { type: 'filled'; topic: string; done: number; total: number }
  /** A consumer group has its committed offsets on the target, while records of other topics are still written. */
  | { type: 'released'; group: string; done: number; total: number }
  /** Read back from the target, and compared with the backup. */
  | { type: 'compared'; topic: string; partition: number; offsets: bigint; records: number; bytes: number }
  /** What is durable counts from now on; `complete` where all that was planned is in it. */
  | { type: 'committed'; generation: number; complete: boolean }
  /** One of several processes has written down what it has; `backup --commit` makes it count. */
  | { type: 'shard_written'; key: string; complete: boolean }
  /** The ends of partitions at the source and, if known, the offsets up to which they are copied. */
  | { type: 'bounds'; partitions: readonly PartitionBound[] }
  /** A round of a continuous run has ended. */
  | { type: 'round'; ok: boolean }
  /** A round has also read topic settings, schemas, consumer groups and access rules, from this time on. */
  | { type: 'polled'; at: string }
  /** A continuous run waits for its next round. */
  | { type: 'idle'; ms: number }
  /** The source lost records before they could be copied; `to` is null if unknown. */
  | { type: 'gap'; topic: string; partition: number; from: bigint; to: bigint | null; reason: GapReason }
  /** The schema registry was read. */
  | { type: 'schemas_read'; subjects: number; versions: number }
  /** The positions of consumer groups were read. */
  | { type: 'groups_read'; groups: number; positions: number }
  /** Consumer groups that have their positions on the target, of so many. */
  | { type: 'groups'; done: number; total: number }
  /** Versions of schemas that are registered on the target, of so many. */
  | { type: 'schemas'; done: number; total: number }
  /** Something failed that may pass, and is tried again. */
  | { type: 'retry'; what: string; delayMs: number }
  /** The run waits for another process; repeated every minute. */
  | { type: 'waiting'; message: string }
  /** A warning; the work continues. */
  | { type: 'warning'; message: string }
  /** An informational message. */
  | { type: 'note'; message: string }
  /** How far the removal of objects of a backup is. */
  | { type: 'removed'; backupId: string; objects: number; totalObjects: number }
  /** A run that prunes by itself has done so. */
  | { type: 'pruned'; backups: number; segments: number; objects: number; bytes: number }
  /** What the whole backup occupies in the store. A continuous run measures it once an hour. */
  | { type: 'measured'; storedBytes: number }
  /**
   * The commit times of the oldest and the newest complete generation that hold a topic. A continuous run reads them once an hour; each
   * complete commit moves the newest.
   */
  | { type: 'recovery_windows'; topics: readonly TopicWindow[] }
  /** How far a deep verification is. */
  | { type: 'checked'; objects: number; bytes: number; totalObjects: number; totalBytes: number }
  /** How far the copy of a backup to another location is. */
  | { type: 'transferred'; objects: number; bytes: number; totalObjects: number; totalBytes: number }

export interface PlannedRecords {
  topic: string
  records: number
}

export interface TopicWindow {
  topic: string
  oldestAt: string
  newestAt: string
}

export interface PartitionBound {
  topic: string
  partition: number
  position?: bigint
  lastStable: bigint
  highWatermark: bigint
}

export type OnProgress = (event: ProgressEvent) => void

const MIN_AGE_MS = 3 * 60_000
const ROUNDS = 3

/**
 * How old the last successful round of a continuous backup may become before its pod reports itself as not ready: three
 * times `backup.commit_interval`, at least three minutes.
 */
export function maxRoundAgeMs(commitIntervalMs: number): number {
  return Math.max(ROUNDS * commitIntervalMs, MIN_AGE_MS)
}
