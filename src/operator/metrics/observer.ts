import type { AnyController, Controller, Resource } from '../crd/resource.ts'
import type { EndedRun } from '../crd/status.ts'
import type { ObjectRef } from '../kube/object.ts'
import type { QueueObserver } from '../queue/work-queue.ts'

/** What the operator reports for its metrics. */
export interface OperatorObserver {
  /** When a resource appears, and whenever it or its status changes. */
  seen(controller: AnyController, resource: Resource): void
  gone(controller: AnyController, ref: ObjectRef): void
  /** Progress of a run: the sum over its pods since it started. Never decreases for the same run. */
  progressed(controller: Controller, resource: Resource, run: string, done: { records: number; gaps?: number }): void
  /** Once for each run, after its end is in the status. */
  ended(controller: Controller, resource: Resource, run: EndedRun): void
  reconciled(controller: AnyController, ref: ObjectRef, durationMs: number, isFailed: boolean): void
  queue(controller: AnyController): QueueObserver
  leads(isLeader: boolean): void
  /** Whether resources, Jobs and pods of a watched namespace can be read; `*` stands for all namespaces. */
  namespaceReadable(namespace: string, isReadable: boolean): void
}
