import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../observe/log.ts'
import { managedBy } from '../job/names.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { ObjectRef } from '../kube/object.ts'
import type { OperatorObserver } from '../metrics/observer.ts'
import type { Health } from './health.ts'
import type { Planner } from './planner.ts'

export interface OperatorOptions {
  apiGroup: string
  /** Those whose resources are worked on; undefined means all. */
  namespaces: readonly string[] | undefined
  /** Different for each process; the name of the pod is a part of it. */
  identity: string
  /** Undefined where this process always leads. */
  lease: ObjectRef | undefined
  /** The API version of Strimzi's Kafka resources, or `auto`; undefined where they are not read. */
  strimziApi?: string | undefined
  /** Resources of a kind that are worked on at the same time. */
  workers: number
  /** How often running pods are asked how far they are. */
  progressIntervalMs: number
}

export interface OperatorParts {
  api: KubeApi
  clock: Clock
  random: () => number
  observer: OperatorObserver
  log: Log
  planner: Planner
  fetchProgress: FetchProgress
  health: Health
}

/** The text of `/progress` of the pod at the address. Rejects where there is no answer in time. */
export type FetchProgress = (ip: string, signal: AbortSignal) => Promise<string>

export const fieldManager = 'kafka-backup-operator'

/** Of all that the operator makes; what lacks it is not seen. */
export const ownSelector = `app.kubernetes.io/managed-by=${managedBy}`
