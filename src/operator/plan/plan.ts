import type { Controller, Resource } from '../crd/resource.ts'
import type { EndedRun, ResourceStatus, RunProgress } from '../crd/status.ts'
import type { JobStep } from '../job/job-pod.ts'
import type { JobState } from '../job/job-state.ts'
import type { KubeEvent } from '../kube/event-recorder.ts'

/** All that a plan is made of. */
export interface Situation {
  controller: Controller
  resource: Resource
  apiGroup: string
  /** Those that the resource owns. */
  jobs: readonly JobState[]
  /** Empty as long as nobody looked: they are looked for when a plan has a `start`, and the plan is made again. */
  missingSecrets: readonly MissingSecret[]
  isLicenseMissing: boolean
  /** Why it is not known whether the license is there, where it is not. */
  licenseTrouble?: string | undefined
  /** Why the spec cannot be run, where it cannot: an error of `planJobPod`, or a Job that the API server refused. */
  problem: { reason: string; message: string } | undefined
  /** Of the run under way. */
  progress: RunProgress | undefined
  /** When a continuous run last had all that there was, by the clock of its pod; undefined as long as nobody knows. */
  lastRoundMs?: number | undefined
  /** The namespace of the resource is being deleted: the API server takes no new object in it. */
  isNamespaceTerminating?: boolean
  /** Of the reset that `spec.resetRef` names: undefined where it names none, null where there is no snapshot yet. */
  referredSnapshotId: string | null | undefined
  nowMs: number
}

export interface MissingSecret {
  name: string
  field: string
}

export interface Plan {
  /** In this order, each after the one before it has worked. `status` comes after them, `after` behind that. */
  actions: Action[]
  status: ResourceStatus
  /** What may be done only once the status tells of it: removal of Jobs whose end it has. */
  after: Action[]
  events: KubeEvent[]
  /** Runs that `status` tells of as ended and the status before did not: for the metrics. */
  ended: EndedRun[]
  /** When to look again though nothing changed; milliseconds since the epoch. */
  recheckAtMs?: number
}

export type Action =
  | { type: 'start'; run: string; step: JobStep; dueMs: number }
  | { type: 'remove-job'; name: string; uid: string }
  /** It starts no further pod, and stays with the logs of those that it had. */
  | { type: 'stop-job'; name: string; uid: string }
  | { type: 'add-finalizer' }
  | { type: 'remove-finalizer' }
