import type { RunPurpose } from '../crd/status.ts'

/** One Job of a run: a backup or restore in shards has two of them, one after the other. */
export interface JobStep {
  purpose: RunPurpose
  /** `shards` has `--shard $(JOB_COMPLETION_INDEX)/<shards>`, which `buildJob` adds, `commit` has `--commit`, or `--finish` of a restore. */
  stage: 'whole' | 'shards' | 'commit'
  shards: number
  /** The backup that the run makes, verifies or removes; of a mode `full` one that no other run has. */
  backupId: string
  /** The snapshot that a rollback leads to, where it comes from a `resetRef`. */
  snapshotId?: string
  /** The snapshot that a reset or a rollback takes first, the same for all pods: a pod may be killed after it took one. */
  snapshotAs?: string
  /** The spec that the Job is made of. */
  generation?: number
  specHash?: string
}

/** What the pod of a step needs beyond what all pods have: pure, and free of secrets. */
export interface JobPod {
  /** Of the command line: the command, `--config` and the options that the spec stands for. */
  args: string[]
  /** The text of the job file; it names secrets only as `${VARIABLE}`s and files. */
  jobFile: string
  env: EnvVar[]
  volumes: Volume[]
  mounts: VolumeMount[]
  secrets: SecretUse[]
}

/** Where the job file is in the pod. */
export const jobFilePath = '/etc/kafka-backup/job.yaml'

/** Where `/progress` and `/metrics` of a pod are served. */
export const jobPort = 8080

export interface EnvVar {
  name: string
  value?: string
  valueFrom?: { secretKeyRef: { name: string; key: string } } | { fieldRef: { fieldPath: string } }
}

export interface Volume {
  name: string
  [source: string]: unknown
}

export interface VolumeMount {
  name: string
  mountPath: string
  readOnly?: boolean
  subPath?: string
}

/** A secret that the pod cannot start without. */
export interface SecretUse {
  name: string
  /** Absent where any will do. */
  key?: string
  /** The field of the resource that names it: `spec.storage.secretAccessKeySecret`. */
  field: string
}
