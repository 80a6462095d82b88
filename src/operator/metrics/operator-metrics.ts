import type { Clock } from '../../lib/clock.ts'
import type { AnyController, Controller, Resource } from '../crd/resource.ts'
import type { EndedRun } from '../crd/status.ts'
import { type ObjectRef, refOf } from '../kube/object.ts'
import { roundLimitMs } from '../plan/rounds.ts'
import type { QueueObserver } from '../queue/work-queue.ts'
import { planExpectedInterval } from './expected-interval.ts'
import { MetricSet, ZeroHold } from './metric-set.ts'
import type { OperatorObserver } from './observer.ts'
import { OwnedSeries } from './owned-series.ts'
import { type ExpectedIntervals, planGauges } from './plan-gauges.ts'
import { RunCounts } from './run-counts.ts'

interface OperatorMetricsOptions {
  version: string
  /** Namespace and name of the Lease that it leads with; empty without leader election. */
  lease?: string
  clock: Pick<Clock, 'now' | 'monotonic'>
  /** How long a counter shows zero after its first scrape: more than the time between two scrapes. */
  holdMs?: number
}

const noIntervals: ExpectedIntervals = { backup: undefined, verify: undefined, drill: undefined }

const depthName = 'kafka_backup_operator_workqueue_depth'

interface Known {
  uid: string | undefined
  series: OwnedSeries
  /** Undefined for a storage, which has no runs. */
  runs: RunCounts | undefined
  /** The schedules that the intervals belong to. */
  schedules: string
  expected: ExpectedIntervals
}

/** Turns what the operator reports into metrics. Series of a resource exist as long as the resource. */
export class OperatorMetrics implements OperatorObserver {
  readonly #clock: OperatorMetricsOptions['clock']
  readonly #lease: string
  readonly #metrics: MetricSet
  readonly #known = new Map<string, Known>()
  readonly #queues = new Set<AnyController>()
  readonly #intervals = new Map<string, number | undefined>()

  constructor({ version, lease = '', clock, holdMs }: OperatorMetricsOptions) {
    this.#clock = clock
    const hold = { monotonic: clock.monotonic, ...(holdMs !== undefined && { holdMs }) }
    this.#metrics = new MetricSet(new ZeroHold(hold))
    this.#metrics.set('kafka_backup_operator_build_info', { version }, 1)
    this.#lease = lease
    this.#metrics.set('kafka_backup_operator_leader', { lease }, 0)
  }

  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8'

  /** The text exposition. */
  format(): Promise<string> {
    return this.#metrics.format()
  }

  /** A storage has no series but those of its reconciliations: resources that refer to it report that it is not available. */
  seen(controller: AnyController, resource: Resource): void {
    const known = this.#know(controller, resource)
    if (controller === 'storage') return
    this.#expect(known, controller, resource)
    known.series.show(planGauges(controller, resource, known.expected))
    known.runs?.makeSeries(resource)
    known.runs?.trim(resource)
  }

  gone(controller: AnyController, ref: ObjectRef): void {
    this.#forget(keyOf(controller, ref))
  }

  progressed(...[controller, resource, run, done]: Parameters<OperatorObserver['progressed']>): void {
    this.#find(controller, resource)?.runs?.progressed(resource, run, done)
  }

  ended(controller: Controller, resource: Resource, run: EndedRun): void {
    this.#find(controller, resource)?.runs?.ended(resource, run)
  }

  /** A deleted resource is not counted: its series would never be removed. */
  reconciled(controller: AnyController, ref: ObjectRef, durationMs: number, isFailed: boolean): void {
    const known = this.#known.get(keyOf(controller, ref))
    if (known) countReconciliation(known.series, controller, ref, { durationMs, isFailed })
  }

  queue(controller: AnyController): QueueObserver {
    const metrics = this.#metrics
    const labels = { controller }
    this.#queues.add(controller)
    metrics.set(depthName, labels, 0)
    metrics.add('kafka_backup_operator_workqueue_adds_total', labels, 0)
    metrics.add('kafka_backup_operator_workqueue_retries_total', labels, 0)
    return {
      depth: keys => metrics.set(depthName, labels, keys),
      added: () => metrics.add('kafka_backup_operator_workqueue_adds_total', labels, 1),
      retried: () => metrics.add('kafka_backup_operator_workqueue_retries_total', labels, 1),
      worked: () => undefined,
    }
  }

  /** A standby must not report old state of resources, which would raise alerts next to the leader's. */
  leads(isLeader: boolean): void {
    this.#metrics.set('kafka_backup_operator_leader', { lease: this.#lease }, isLeader ? 1 : 0)
    if (isLeader) return
    for (const key of [...this.#known.keys()]) this.#forget(key)
    for (const controller of this.#queues) this.#metrics.set(depthName, { controller }, 0)
  }

  namespaceReadable(namespace: string, isReadable: boolean): void {
    this.#metrics.set('kafka_backup_operator_namespace_readable', { namespace }, isReadable ? 1 : 0)
  }

  /**
   * A resource is seen before its runs are reported. An unknown one was deleted in the meantime, and may have been replaced by
   * another one with its name: its series must not come back.
   */
  #find(controller: Controller, resource: Resource): Known | undefined {
    const known = this.#known.get(keyOf(controller, refOf(resource)))
    return known?.uid === resource.metadata.uid ? known : undefined
  }

  #know(controller: AnyController, resource: Resource): Known {
    const { uid } = resource.metadata
    const key = keyOf(controller, refOf(resource))
    const before = this.#known.get(key)
    if (before && before.uid === uid) return before
    // Another resource with the same name; the deletion of its predecessor was not seen.
    if (before) this.#forget(key)
    const series = new OwnedSeries(this.#metrics)
    const runs = controller === 'storage' ? undefined : new RunCounts(controller, series)
    const known = { uid, series, runs, schedules: '', expected: noIntervals }
    this.#known.set(key, known)
    countReconciliation(series, controller, refOf(resource), undefined)
    runs?.begin(resource, this.#clock.now())
    return known
  }

  #expect(known: Known, controller: Controller, resource: Resource): void {
    if (controller !== 'backup') return
    const { schedule, suspend, verify, drill, backup } = resource.spec
    const schedules = JSON.stringify([
      schedule,
      suspend,
      verify,
      drill?.schedule,
      backup?.continuous,
      backup?.commitInterval,
    ])
    if (schedules === known.schedules) return
    known.schedules = schedules
    const find = (text: string | undefined) => (text === undefined ? undefined : this.#findInterval(text))
    const isContinuous = backup?.continuous === true
    const main = suspend || isContinuous ? undefined : find(schedule)
    known.expected = {
      backup: suspend ? undefined : isContinuous ? roundLimitMs(resource) / 1000 : (main ?? 0),
      // An invalid schedule drills nothing, so the alert must have a limit.
      drill: suspend || drill === undefined ? undefined : (find(drill.schedule) ?? 0),
      verify: verify === undefined || suspend ? undefined : verify.schedule ? find(verify.schedule) : main,
    }
  }

  /** Cached: it is expensive, and many resources have the same schedule. */
  #findInterval(schedule: string): number | undefined {
    if (!this.#intervals.has(schedule)) {
      this.#intervals.set(schedule, planExpectedInterval(schedule, this.#clock.now()))
    }
    return this.#intervals.get(schedule)
  }

  #forget(key: string): void {
    this.#known.get(key)?.series.remove()
    this.#known.delete(key)
  }
}

function countReconciliation(
  series: OwnedSeries,
  controller: AnyController,
  { namespace = '', name }: ObjectRef,
  result: { durationMs: number; isFailed: boolean } | undefined,
): void {
  const labels = { controller, namespace, name }
  series.add('kafka_backup_operator_reconciliations_total', labels, result ? 1 : 0)
  series.add('kafka_backup_operator_reconciliation_errors_total', labels, result?.isFailed ? 1 : 0)
  const duration = 'kafka_backup_operator_reconciliation_duration_seconds'
  if (result) series.observe(duration, labels, result.durationMs / 1000)
  else series.begin(duration, labels)
}

function keyOf(controller: AnyController, { namespace = '', name }: ObjectRef): string {
  return `${controller}/${namespace}/${name}`
}
