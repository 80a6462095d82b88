import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import type { AnyController, Resource } from '../crd/resource.ts'
import type { EventRecorder, KubeEvent } from '../kube/event-recorder.ts'
import { refOf } from '../kube/object.ts'
import { LeadershipLost } from '../leader/run-leader.ts'
import type { AnySituation, Plan } from '../plan/plan.ts'
import type { WorkResult } from '../queue/work-queue.ts'
import type { ObjectKey } from '../watch/store.ts'
import { askForActive, catchUp, noteRead } from './catch-up.ts'
import { JobRefused } from './change-jobs.ts'
import type { ClusterView } from './cluster-view.ts'
import { claimStarts, executeAction, forgetStart, removeLeftConfigMaps } from './execute-action.ts'
import { isSettled, releaseInDeletedNamespace } from './finalizer.ts'
import { observeResource } from './observe-resource.ts'
import type { OperatorOptions, OperatorParts } from './operator-options.ts'
import { isDrillStart, type PreparedPlan, prepareStarts, startsOf } from './prepare-starts.ts'
import { newMemory, type ResourceMemory, refusalAfter } from './resource-memory.ts'
import { plain, StatusOutdated, writeStatus } from './write-status.ts'

/** A namespace that cannot be read may be deleted later, and it is not watched. */
const RELEASE_AGAIN_MS = 60_000

/** Until a resource that has changed during a reconciliation is reconciled again. */
const OUTDATED_MS = 500

/** Reconciles the resources of one kind. Lives as long as this process leads. */
export class Reconciler {
  readonly #controller: AnyController
  readonly #options: OperatorOptions
  readonly #parts: OperatorParts
  readonly #view: ClusterView
  readonly #events: EventRecorder
  readonly memories = new Map<ObjectKey, ResourceMemory>()

  constructor(
    controller: AnyController,
    options: OperatorOptions,
    parts: OperatorParts,
    view: ClusterView,
    events: EventRecorder,
  ) {
    this.#controller = controller
    this.#options = options
    this.#parts = parts
    this.#view = view
    this.#events = events
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<WorkResult> {
    const stored = this.#view.resources[this.#controller].get(key)
    if (stored === undefined) {
      this.#view.starting.delete(this.memories.get(key)?.uid ?? '')
      this.memories.delete(key)
      return {}
    }
    // It is queued again when the namespace can be read.
    if (!this.#view.isServed(stored.metadata.namespace)) {
      const isWaiting = (await releaseInDeletedNamespace(...this.#releasing(stored), signal)) === 'waiting'
      return isWaiting ? { recheckAtMs: this.#parts.clock.now() + RELEASE_AGAIN_MS } : {}
    }
    try {
      return await this.#workOn(key, stored, this.#memoryOf(key, stored), signal)
    } catch (error) {
      if (signal.aborted) throw error
      if (error instanceof StatusOutdated) return { recheckAtMs: this.#parts.clock.now() + OUTDATED_MS }
      if (!(await isSettled(error, ...this.#releasing(stored), signal))) throw error
      return {}
    }
  }

  #releasing(stored: Resource) {
    return [this.#parts, this.#view.kinds[this.#controller], stored] as const
  }

  async #workOn(key: ObjectKey, found: Resource, memory: ResourceMemory, signal: AbortSignal): Promise<WorkResult> {
    const { api, planner, clock } = this.#parts
    const kind = this.#view.kinds[this.#controller]
    const view = this.#view
    const parts = () => ({ api, jobs: view.jobs, kind, view, planner, nowMs: clock.monotonic() })
    await catchUp(found, memory, parts(), signal)
    // The cache may have advanced meanwhile, and then memory no longer has the status that `found` lacks.
    const stored = this.#view.resources[this.#controller].get(key) ?? found
    if (stored.metadata.uid !== memory.uid) return {}
    const situation = this.#observe(stored, memory)
    const plan = planner.planResource(situation)
    if (startsOf(plan).length === 0) forgetStart(memory, view)
    if (startsOf(plan).length === 0 && !isFirstWrite(plan, situation, memory)) {
      return this.#execute(situation, memory, { plan, objects: new Map() }, signal)
    }
    // What has run must not run again, nor end otherwise: a start, and the first status after those of another leader, is
    // decided by the resource as it is and not as it was.
    const fresh = await api.get(kind, refOf(stored), signal)
    if (fresh.metadata.uid !== memory.uid) return {}
    noteRead(memory, fresh, stored, clock.monotonic())
    await askForActive(fresh, memory, parts(), signal)
    // A start checks them again, and its result must not be hidden by an older one.
    if (startsOf(plan).length > 0) memory.secrets = undefined
    const latest = this.#observe(fresh, memory)
    try {
      const prepared = await prepareStarts(latest, memory, { api, planner, view }, signal)
      claimStarts(prepared.plan, latest, memory, view)
      return await this.#execute(latest, memory, prepared, signal)
    } catch (error) {
      if (!(error instanceof JobRefused)) throw error
      return this.#refuse(latest, memory, error, signal)
    }
  }

  /** Reports the rejection in the status, and does the rest of the plan. */
  #refuse(
    situation: AnySituation,
    memory: ResourceMemory,
    error: JobRefused,
    signal: AbortSignal,
  ): Promise<WorkResult> {
    forgetStart(memory, this.#view)
    const isDrill = isDrillStart(this.#parts.planner.planResource(situation))
    this.#noteRefusal(situation, memory, error, isDrill ? 'drillRefusal' : 'refusal')
    const observed = this.#observe(situation.resource, memory)
    const refused = { ...observed, [isDrill ? 'drillProblem' : 'problem']: error.problem }
    const plan = this.#parts.planner.planResource(refused)
    return this.#execute(refused, memory, { plan, objects: new Map() }, signal)
  }

  #observe(resource: Resource, memory: ResourceMemory): AnySituation {
    const { planner, clock } = this.#parts
    const { apiGroup } = this.#options
    return observeResource(resource, memory, {
      controller: this.#controller,
      apiGroup,
      view: this.#view,
      planner,
      nowMs: clock.now(),
    })
  }

  /** Executes the steps in order; after a failure the next reconciliation does the rest. */
  async #execute(
    situation: AnySituation,
    memory: ResourceMemory,
    { plan, objects }: PreparedPlan,
    signal: AbortSignal,
  ): Promise<WorkResult> {
    const { api, planner, clock, observer } = this.#parts
    const kind = this.#view.kinds[this.#controller]
    const parts = { api, clock, planner, view: this.#view, kind, memory, situation, objects }
    for (const action of plan.actions) await executeAction(action, parts, signal)
    const { resource, nowMs } = situation
    const monotonicMs = clock.monotonic()
    const { ended, events } = withUnsure(plan, resource, memory)
    memory.unsure = { before: plain(resource.status ?? {}), ended, events }
    const grace = startReportGrace(clock, signal)
    try {
      const written = await writeStatus(api, kind, resource, plan.status, memory, monotonicMs, grace.signal)
      memory.unsure = undefined
      if (this.#controller !== 'storage') for (const run of ended) observer.ended(this.#controller, written, run)
      try {
        for (const action of plan.after) await executeAction(action, parts, signal)
      } finally {
        await this.#recordEvents(written, events, grace.signal)
      }
    } finally {
      grace.end()
    }
    await removeLeftConfigMaps(parts, signal)
    return againAt(plan, memory, nowMs)
  }

  #noteRefusal(
    { resource, nowMs }: AnySituation,
    memory: ResourceMemory,
    { problem }: JobRefused,
    of: 'refusal' | 'drillRefusal',
  ): void {
    const generation = resource.metadata.generation ?? 0
    memory[of] = refusalAfter(memory[of], { generation, problem, nowMs, random: this.#parts.random() })
    this.#parts.log.write('warn', `${problem.reason}: ${problem.message}`, this.#about(resource))
  }

  /** Events are informational; losing one does no harm. */
  async #recordEvents(resource: Resource, events: readonly KubeEvent[], signal: AbortSignal): Promise<void> {
    for (const event of events) {
      const level = event.type === 'Warning' ? 'warn' : 'info'
      this.#parts.log.write(level, event.note, { ...this.#about(resource), reason: event.reason })
      if (signal.aborted) continue
      await this.#events.record(resource, event, signal).catch(error => {
        const why = error instanceof Error ? error.message : String(error)
        if (!signal.aborted) this.#parts.log.write('warn', `an event was not written: ${why}`, this.#about(resource))
      })
    }
  }

  #memoryOf(key: ObjectKey, { metadata: { uid = '' } }: Resource): ResourceMemory {
    const known = this.memories.get(key)
    const memory = known?.uid === uid ? known : newMemory(uid)
    this.memories.set(key, memory)
    return memory
  }

  #about({ metadata: { namespace, name } }: Resource): Record<string, unknown> {
    return { controller: this.#controller, namespace, name }
  }
}

function isFirstWrite({ status }: Plan, { resource }: AnySituation, { written }: ResourceMemory): boolean {
  return written === undefined && !isDeepStrictEqual(plain(status), plain(resource.status ?? {}))
}

/**
 * A status write without a response may have succeeded: then no plan reports its runs and events again. Only the operator writes
 * the status, so another one than before is that of one of its writes, of which there may have been several.
 */
function withUnsure(plan: Plan, { status = {} }: Resource, { unsure }: ResourceMemory): Pick<Plan, 'ended' | 'events'> {
  if (unsure === undefined || isDeepStrictEqual(unsure.before, plain(status))) return plan
  const later = plan.ended.filter(({ run }) => !unsure.ended.some(one => one.run === run))
  return { ended: [...unsure.ended, ...later], events: [...unsure.events, ...plan.events] }
}

function againAt({ recheckAtMs }: Plan, { refusal, drillRefusal }: ResourceMemory, nowMs: number): WorkResult {
  // A drill may have to wait although its refusal has just ended.
  const drillMs = (drillRefusal?.untilMs ?? 0) > nowMs ? drillRefusal?.untilMs : undefined
  const times = [recheckAtMs, refusal?.untilMs, drillMs].filter(time => time !== undefined && time > nowMs)
  const earliest = Math.min(...times.map(time => time ?? 0))
  return times.length === 0 ? {} : { recheckAtMs: earliest }
}

/** Well below the grace period of the operator's pod. */
const REPORT_GRACE_MS = 5000

interface ReportGrace {
  signal: AbortSignal
  end(): void
}

/**
 * A signal for reporting what was done. It is aborted a few seconds after the signal of the work, so a stopping process still
 * writes status and events; and immediately if another process may lead by now.
 */
function startReportGrace(clock: Clock, signal: AbortSignal): ReportGrace {
  const over = new AbortController()
  let cancel = () => {}
  const onAbort = () => {
    const abort = () => over.abort(signal.reason)
    if (signal.reason instanceof LeadershipLost) abort()
    else cancel = clock.after(REPORT_GRACE_MS, abort)
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return {
    signal: over.signal,
    end: () => {
      cancel()
      signal.removeEventListener('abort', onAbort)
    },
  }
}
