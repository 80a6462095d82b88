import type { RunEstimate, RunPurpose } from '../crd/status.ts'

/** One Job with its pods, as `readJobState` reads it for the plan. */
export interface JobState {
  name: string
  uid: string
  run: string
  purpose: RunPurpose
  stage: 'whole' | 'shards' | 'commit'
  shards: number
  backupId: string
  /** When the run was due, the same for all its Jobs; milliseconds since the epoch. */
  dueMs: number
  /** The spec that it is made of; absent for a Job of an older version. */
  generation?: number
  specHash?: string
  createdMs: number
  /** It runs a continuous backup: failed pods are replaced without limit, except after errors that stall (`restartPolicies`). */
  isContinuous?: boolean
  /** It starts no pod after a failure: `backoffLimit` is 0. */
  isWithoutRetries?: boolean
  /** The Job controller has decided the result, but `end` is not known yet: it starts no further pod. */
  isEnding?: boolean
  isBeingDeleted: boolean
  /** The Job has ended and one of its pods has not: before Kubernetes 1.31, a deadline ends the Job first. */
  hasPods?: boolean
  end: JobEnd | undefined
  /** Why no pod, or not every shard, works: an image that cannot be pulled, a secret without the key, no capacity on any node, a sidecar that outlives the process. */
  waiting: { reason: string; message: string; sinceMs?: number } | undefined
  /** Pods that failed while the Job continues, and the result of the last one. */
  failedPods?: { count: number; reason?: string; message?: string }
  /** Pods that run, with the address that serves `/progress`. */
  running: { pod: string; ip: string }[]
  /** The process of a pod that has not ended runs or has ended; a sidecar may keep the pod. */
  hasBegun?: true
  /** Since when a pod is ready; for a continuous backup this means that its rounds succeed. */
  readySinceMs?: number
  /** A pod whose node no longer reports: when it counts as lost, and what to do. */
  lost?: { atMs: number; message: string }
}

/** The Job has ended, or will never succeed although it would retry (`isStillTrying`). */
export interface JobEnd {
  isSuccess: boolean
  isStillTrying: boolean
  completedMs: number
  /** One word: a code of docs/errors.md, `Partial`, `DeadlineExceeded`, `BackoffLimitExceeded`, `OutOfMemory`. */
  reason?: string
  /** With what to do. */
  message?: string
  /** A pod ended or disappeared without a result: the totals may lack what it did. */
  isUnreported?: true
  /** The results of its pods, summed over all shards. */
  totals: JobTotals
}

export interface JobTotals {
  records?: number
  bytes?: number
  storedBytes?: number
  mayHoldDeletedKeys?: number
  estimate?: RunEstimate
  groups?: number
  gaps?: number
  /** Of a drill. */
  recoverySeconds?: number
  /** From the first pod that reported one: a retry keeps the snapshot of the first attempt. */
  snapshotId?: string
  report?: string
  /** Nothing was changed. */
  dryRun?: boolean
}
