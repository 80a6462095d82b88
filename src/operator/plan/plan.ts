import type { Controller, Resource } from '../crd/resource.ts'
import type { EndedRun, ResourceStatus, RunProgress } from '../crd/status.ts'
import type { JobStep } from '../job/job-pod.ts'
import type { JobState } from '../job/job-state.ts'
import type { ReferenceState } from '../job/references.ts'
import type { KubeEvent } from '../kube/event-recorder.ts'

/** The input of a plan. */
export interface Situation {
  controller: Controller
  resource: Resource
  apiGroup: string
  /** Jobs of the resource. */
  jobs: readonly JobState[]
  /** Empty at first: they are checked when a plan has a `start`, and the plan is computed again. */
  missingSecrets: readonly MissingSecret[]
  /** Why the API server did not allow to check the secrets. */
  secretsTrouble?: string | undefined
  /** The secrets were checked without a run being due. */
  isSecretsChecked?: boolean
  isLicenseMissing: boolean
  /** Why the license secret could not be checked. */
  licenseTrouble?: string | undefined
  /** Why the spec cannot run: an error of `planJobPod`, or a Job that the API server rejected. */
  problem: { reason: string; message: string } | undefined
  /** Why no drill can start, although backups can: its cluster, its secrets, or a Job that the API server rejected. */
  drillProblem?: { reason: string; message: string } | undefined
  /** A Job of a deleted resource with the same name that has not ended; looked for when a plan has the first `start` of a resource. */
  earlierJob?: string | undefined
  /** Progress of the active run. */
  progress: RunProgress | undefined
  /** When a continuous run last caught up, by the clock of its pod; undefined if unknown. */
  lastRoundMs?: number | undefined
  /** The namespace is being deleted: the API server accepts no new objects in it. */
  isNamespaceTerminating?: boolean
  /** Of the reset that `spec.resetRef` names: undefined where it names none, null where there is no snapshot yet. */
  referredSnapshotId: string | null | undefined
  /** Why there is none yet; `unchanged` where the reset has ended without one. */
  referredReset?: 'missing' | 'new' | 'active' | 'unchanged'
  /** Of a reset, or of a rollback with `resetRef`: another rollback that refers to the same reset and sets its offsets now. */
  activeRollback?: string | undefined
  /** What has not ended of that rollback, if it was deleted or refers to another reset now. */
  leftOfRollback?: { kind: 'Job' | 'Pod'; name: string; node?: string } | undefined
  /** The KafkaBackupStorage of `spec.storageRef` and the cluster of `spec.clusterRef`, where it names them. */
  storage?: ReferenceState | undefined
  cluster?: ReferenceState | undefined
  nowMs: number
}

/** The input of the plan for a KafkaBackupStorage. */
export interface StorageSituation extends Omit<Situation, 'controller'> {
  controller: 'storage'
  /** Resources that refer to it. */
  users: number
  /** One of them has an active run. */
  isInUse: boolean
}

export type AnySituation = Situation | StorageSituation

export interface MissingSecret {
  name: string
  field: string
}

export interface SecretCheck {
  missing: MissingSecret[]
  /** Why the API server did not allow the check. */
  trouble?: string
}

export interface Plan {
  /** Executed in this order, each after the previous succeeded; then `status`, then `after`. */
  actions: Action[]
  status: ResourceStatus
  /** Actions after the status is written: removal of Jobs whose end it shows. */
  after: Action[]
  events: KubeEvent[]
  /** Runs that ended since the previous status, for the metrics. */
  ended: EndedRun[]
  /** When to reconcile again without a change; milliseconds since the epoch. */
  recheckAtMs?: number
}

export type Action =
  | { type: 'start'; run: string; step: JobStep; dueMs: number }
  | { type: 'remove-job'; name: string; uid: string }
  /** The Job starts no further pod, and stays for the logs. */
  | { type: 'stop-job'; name: string; uid: string }
  | { type: 'add-finalizer' }
  | { type: 'remove-finalizer' }
