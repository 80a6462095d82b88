/** There are no others: partly done is `Failed` with the reason `Partial`. */
export const phases = ['Pending', 'Running', 'Completed', 'Failed'] as const

export type Phase = (typeof phases)[number]

/** What the operator writes with server-side apply, whole each time. Times are RFC 3339 in UTC, to the second. */
export interface ResourceStatus {
  /** Of the last run; of a scheduled resource before its first run, and of one that waits, `Pending`. */
  phase?: Phase
  /** Why the phase is what it is, one word: `Partial`, `SecretMissing`, `InvalidSpec`, a code of docs/errors.md. */
  reason?: string
  /** The same for people, with what to do. */
  message?: string
  observedGeneration?: number
  conditions?: Condition[]
  /** Of the last run. */
  startTime?: string
  completionTime?: string
  /** Pods of the run under way that failed and were replaced. */
  restarts?: number
  records?: number
  bytes?: number
  /** What the whole backup takes in the store. */
  storedBytes?: number
  gaps?: number
  /** Partitions of compacted topics that may hold keys which were deleted at the source. */
  mayHoldDeletedKeys?: number
  backupId?: string
  /** The positions before a reset or rollback, or those that a snapshot took. */
  snapshotId?: string
  /** The key of the full report in the storage. */
  report?: string
  lastSuccessfulTime?: string
  lastFailedTime?: string
  lastScheduleTime?: string
  nextScheduleTime?: string
  lastVerifyTime?: string
  nextVerifyTime?: string
  /** The value of the trigger annotation that was acted on. */
  lastTrigger?: string
  /** Of the run under way. */
  progress?: RunProgress
  active?: ActiveRun[]
  /** Runs that ended, the newest first. */
  history?: EndedRun[]
}

export interface Condition {
  type: ConditionType
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
  /** Changes only when `status` does. */
  lastTransitionTime: string
  observedGeneration?: number
}

export type ConditionType =
  /** Nothing stands in the way of the next run, and the last one did not fail. */
  | 'Ready'
  | 'Progressing'
  | 'Succeeded'
  /** Of a continuous backup: it stopped for good. */
  | 'Stalled'
  | 'SecretsFound'
  /** Of a resource with a schedule; False while it is suspended. */
  | 'Scheduled'
  | 'Verified'
  /** Of a resource with a license secret. */
  | 'LicenseFound'

export interface RunProgress {
  phase: string
  /** 0 to 100. */
  percent?: number
  records: number
  bytes: number
  remainingSeconds?: number
  /** What the whole backup occupies in the store, where a continuous run has measured it. */
  storedBytes?: number
  /** Ranges that the source lost before the run read them; absent without any. */
  gaps?: number
}

/** What a run is for; the name of its label value. */
export type RunPurpose = 'main' | 'verify' | 'delete'

export interface ActiveRun {
  /** Unique among the runs of the resource; `planRuns` makes it. */
  run: string
  purpose: RunPurpose
  /** The Job that works at it now. */
  job: string
  startTime: string
  backupId?: string
}

export interface EndedRun extends ActiveRun {
  phase: 'Completed' | 'Failed'
  completionTime: string
  reason?: string
  message?: string
  records?: number
  bytes?: number
  storedBytes?: number
  /** Consumer groups whose committed offsets were set, kept or compared. */
  groups?: number
  gaps?: number
  mayHoldDeletedKeys?: number
  snapshotId?: string
  report?: string
  /** It only showed what it would do. */
  dryRun?: boolean
}
