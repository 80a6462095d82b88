import { isDeepStrictEqual } from 'node:util'
import type { EventRecorder, Happening } from '../kube/event-recorder.ts'
import { refOf } from '../kube/object.ts'
import type { Plan, Situation } from '../plan/plan.ts'
import type { WorkResult } from '../queue/work-queue.ts'
import type { Controller, Resource } from '../resource/resource.ts'
import type { ObjectKey } from '../watch/store.ts'
import { carryOut } from './carry-out.ts'
import { catchUp, noteRead } from './catch-up.ts'
import type { ClusterView } from './cluster-view.ts'
import { startLastWords } from './last-words.ts'
import { look } from './look.ts'
import type { OperatorOptions, OperatorParts } from './operator-options.ts'
import { type PreparedPlan, prepareStarts, startsOf } from './prepare-starts.ts'
import { isSettled, releaseInDeletedNamespace } from './release.ts'
import { newMemory, noteRefusal, type ResourceMemory } from './resource-memory.ts'
import { JobRefused } from './start-job.ts'
import { plain, writeStatus } from './write-status.ts'

/** A namespace that cannot be read may be deleted later, and nothing tells it. */
const RELEASE_AGAIN_MS = 60_000

/** Brings resources of one kind, one at a time, from what is to what should be. Lives as long as this process leads. */
export class Reconciler {
  readonly #controller: Controller
  readonly #options: OperatorOptions
  readonly #parts: OperatorParts
  readonly #view: ClusterView
  readonly #events: EventRecorder
  readonly memories = new Map<ObjectKey, ResourceMemory>()

  constructor(
    controller: Controller,
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
      this.memories.delete(key)
      return {}
    }
    // It is touched again when the namespace can be read.
    if (!this.#view.isServed(stored.metadata.namespace)) {
      const isWaiting = (await releaseInDeletedNamespace(...this.#releasing(stored), signal)) === 'waiting'
      return isWaiting ? { againAtMs: this.#parts.clock.now() + RELEASE_AGAIN_MS } : {}
    }
    try {
      return await this.#workOn(stored, this.#memoryOf(key, stored), signal)
    } catch (error) {
      if (signal.aborted || !(await isSettled(error, ...this.#releasing(stored), signal))) throw error
      return {}
    }
  }

  #releasing(stored: Resource) {
    return [this.#parts, this.#view.kinds[this.#controller], stored] as const
  }

  async #workOn(stored: Resource, memory: ResourceMemory, signal: AbortSignal): Promise<WorkResult> {
    const { api, brain, clock } = this.#parts
    const kind = this.#view.kinds[this.#controller]
    await catchUp(stored, memory, { api, jobs: this.#view.jobs, kind, nowMs: clock.monotonic() }, signal)
    const situation = this.#look(stored, memory)
    const plan = brain.planResource(situation)
    if (startsOf(plan).length === 0 && !isFirstWrite(plan, situation, memory)) {
      return this.#carryOut(situation, memory, { plan, objects: new Map() }, signal)
    }
    // What has run must not run again, nor end otherwise: a start, and the first status after those of another leader, is
    // decided by the resource as it is and not as it was.
    const fresh = await api.get(kind, refOf(stored), signal)
    if (fresh.metadata.uid !== memory.uid) return {}
    noteRead(memory, fresh, stored, clock.monotonic())
    const latest = this.#look(fresh, memory)
    try {
      return await this.#carryOut(latest, memory, await prepareStarts(latest, api, brain, signal), signal)
    } catch (error) {
      if (!(error instanceof JobRefused) || latest.problem !== undefined) throw error
      return this.#refuse(latest, memory, error, signal)
    }
  }

  /** Tells of the refusal in the status, and does all else that can be done. */
  #refuse(situation: Situation, memory: ResourceMemory, error: JobRefused, signal: AbortSignal): Promise<WorkResult> {
    this.#noteRefusal(situation, memory, error)
    const refused = { ...this.#look(situation.resource, memory), problem: error.problem }
    const plan = this.#parts.brain.planResource(refused)
    return this.#carryOut(refused, memory, { plan, objects: new Map() }, signal)
  }

  #look(resource: Resource, memory: ResourceMemory): Situation {
    const { brain, clock } = this.#parts
    const { apiGroup } = this.#options
    return look(resource, memory, {
      controller: this.#controller,
      apiGroup,
      view: this.#view,
      brain,
      nowMs: clock.now(),
    })
  }

  /** Each of the steps after the one before it has worked; what is left comes with the next try. */
  async #carryOut(
    situation: Situation,
    memory: ResourceMemory,
    { plan, objects }: PreparedPlan,
    signal: AbortSignal,
  ): Promise<WorkResult> {
    const { api, brain, clock, observer } = this.#parts
    const kind = this.#view.kinds[this.#controller]
    const parts = { api, clock, brain, view: this.#view, kind, memory, situation, objects }
    for (const action of plan.actions) await carryOut(action, parts, signal)
    const { resource, nowMs } = situation
    const monotonicMs = clock.monotonic()
    const { ended, events } = withUnsure(plan, resource, memory)
    memory.unsure = { status: plain(plan.status), ended, events }
    const last = startLastWords(clock, signal)
    try {
      const written = await writeStatus(api, kind, resource, plan.status, memory, monotonicMs, last.signal)
      memory.unsure = undefined
      for (const run of ended) observer.ended(this.#controller, written, run)
      try {
        for (const action of plan.after) await carryOut(action, parts, signal)
      } finally {
        await this.#tellEvents(written, events, last.signal)
      }
    } finally {
      last.end()
    }
    return againAt(plan, memory, nowMs)
  }

  #noteRefusal({ resource, nowMs }: Situation, memory: ResourceMemory, { problem }: JobRefused): void {
    noteRefusal(memory, resource.metadata.generation ?? 0, problem, nowMs, this.#parts.random())
    this.#parts.log.write('warn', `${problem.reason}: ${problem.message}`, this.#about(resource))
  }

  /** Events are told to people; one that is lost harms nothing. */
  async #tellEvents(resource: Resource, events: readonly Happening[], signal: AbortSignal): Promise<void> {
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

function isFirstWrite({ status }: Plan, { resource }: Situation, { written }: ResourceMemory): boolean {
  return written === undefined && !isDeepStrictEqual(plain(status), plain(resource.status ?? {}))
}

/** A write without an answer may have been made: then no plan tells again of what it was about. */
function withUnsure(plan: Plan, { status = {} }: Resource, { unsure }: ResourceMemory): Pick<Plan, 'ended' | 'events'> {
  if (unsure === undefined || !isDeepStrictEqual(unsure.status, plain(status))) return plan
  return { ended: [...unsure.ended, ...plan.ended], events: [...unsure.events, ...plan.events] }
}

function againAt({ againAtMs }: Plan, { refusal }: ResourceMemory, nowMs: number): WorkResult {
  const times = [againAtMs, refusal?.untilMs].filter(time => time !== undefined && time >= nowMs)
  const earliest = Math.min(...times.map(time => time ?? 0))
  return times.length === 0 ? {} : { againAtMs: earliest }
}
