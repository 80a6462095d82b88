import type { RunPurpose } from '../crd/status.ts'

/** One Job with its pods, as the plan sees it. `readJobState` makes it of the objects. */
export interface JobState {
  name: string
  uid: string
  run: string
  purpose: RunPurpose
  stage: 'whole' | 'shards' | 'commit'
  shards: number
  backupId: string
  /** When the run was due, of all of its Jobs; milliseconds since the epoch. */
  dueMs: number
  createdMs: number
  /** It runs a continuous backup: pods that fail are replaced for ever, but for errors that `restartPolicies` calls final. */
  isContinuous?: boolean
  /** It starts no further pod once one has failed: the user or the operator set `backoffLimit` to 0. */
  isWithoutRetries?: boolean
  /** The Job controller has decided how it ends, though `end` is not known yet: it starts no further pod. */
  isEnding?: boolean
  isBeingDeleted: boolean
  end: JobEnd | undefined
  /** Why no pod works: an image that cannot be pulled, a secret without the key, no room on any node. */
  waiting: { reason: string; message: string } | undefined
  /** Pods that failed while the Job goes on, and what the last of them told. */
  failedPods?: { count: number; reason?: string; message?: string }
  /** Pods that run, with the address that serves `/progress`. */
  running: { pod: string; ip: string }[]
  /** Since when a pod reports itself as ready; of a continuous backup that means that its rounds succeed. */
  readySinceMs?: number
  /** A pod whose node does not report any more: from when on it counts as lost, and what to do about it. */
  lost?: { atMs: number; message: string }
}

/** The Job is over, or will never succeed though it would go on trying (`isStillTrying`). */
export interface JobEnd {
  isSuccess: boolean
  isStillTrying: boolean
  completedMs: number
  /** One word: a code of docs/errors.md, `Partial`, `DeadlineExceeded`, `BackoffLimitExceeded`, `OutOfMemory`. */
  reason?: string
  /** With what to do. */
  message?: string
  /** What its pods told in the end, of all shards together. */
  totals: JobTotals
}

export interface JobTotals {
  records?: number
  bytes?: number
  storedBytes?: number
  mayHoldDeletedKeys?: number
  groups?: number
  gaps?: number
  /** Of the first pod that told one: a pod that tried again took its own after the reset. */
  snapshotId?: string
  report?: string
  /** Nothing was changed. */
  dryRun?: boolean
}
