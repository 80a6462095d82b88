/** A partial run is `Failed` with the reason `Partial`. */
export const phases = ['Pending', 'Running', 'Completed', 'Failed'] as const

export type Phase = (typeof phases)[number]

/** Written completely, with server-side apply. Times are RFC 3339 in UTC, to the second. */
export interface ResourceStatus {
  /** Phase of the last run; `Pending` before the first run and while something blocks it. */
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
  /** Size of the complete backup in the store. */
  storedBytes?: number
  gaps?: number
  /** Partitions of compacted topics that may hold keys which were deleted at the source. */
  mayHoldDeletedKeys?: number
  backupId?: string
  /** The snapshot taken before a reset or rollback, or the requested one. */
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
  /** Nothing blocks the next run, and the last run did not fail. */
  | 'Ready'
  | 'Progressing'
  | 'Succeeded'
  /** For a continuous backup: it stopped and needs a change. */
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
  /** Size of the complete backup in the store, as a continuous run measured it. */
  storedBytes?: number
  /** Ranges that the source lost before the run read them; absent without any. */
  gaps?: number
}

/** What a run is for; the name of its label value. */
export type RunPurpose = 'main' | 'verify' | 'delete'

export interface ActiveRun {
  /** Unique among the runs of the resource. */
  run: string
  purpose: RunPurpose
  /** Its current Job. */
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
  /** The run changed nothing. */
  dryRun?: boolean
}
