import type { Resource } from '../../../src/operator/crd/resource.ts'
import type { JobState } from '../../../src/operator/job/job-state.ts'
import { jobName } from '../../../src/operator/job/names.ts'
import type { Action, Plan } from '../../../src/operator/plan/plan.ts'
import { planResource } from '../../../src/operator/plan/plan-resource.ts'
import { situationOf, startMs } from './situation.ts'

interface WorldJob {
  state: JobState
  seenMs: number
  podMs: number
  endMs: number
  isSuccess: boolean
  isPermanentFailure: boolean
  goneMs: number | undefined
}

export interface Faults {
  /** The chance of a crash at each step of carrying out a plan. */
  crash: number
  lostStatus: number
  maxLagMs: number
  jobMs: number
  failures: number
}

class Crash {}

/** An API server with one resource and its Jobs, an operator that dies now and then, and a clock that is set by hand. */
export class World {
  nowMs = startMs
  resource: Resource
  readonly jobs = new Map<string, WorldJob>()
  readonly created: { name: string; run: string; stage: string; dueMs: number; atMs: number }[] = []
  readonly endedByJob = new Map<string, boolean>()
  readonly reported: string[] = []
  /** Runs whose end was in a status that was written by an operator which died before it could count them. */
  readonly uncounted = new Set<string>()
  readonly events: { reason: string; note: string }[] = []
  readonly overlaps: string[] = []
  isGone = false
  crashes = 0
  #recheckAtMs: number | undefined
  readonly #random: () => number
  #faults: Faults

  constructor(resource: Resource, random: () => number, faults: Faults) {
    this.resource = resource
    this.#random = random
    this.#faults = faults
  }

  calm(): void {
    this.#faults = { ...this.#faults, crash: 0, lostStatus: 0, maxLagMs: 0 }
  }

  /** To the next thing that happens, or a random time before it. */
  pass(untilMs: number): void {
    const moments = [...this.jobs.values()].flatMap(job => [job.seenMs, job.podMs, job.endMs, job.goneMs])
    const next = [...moments, this.#recheckAtMs, untilMs].filter(ms => ms !== undefined && ms > this.nowMs).map(Number)
    this.nowMs = Math.min(...next)
    this.#work()
  }

  /** One look of the operator at the resource. */
  reconcile(): Plan | undefined {
    if (this.isGone) return undefined
    const jobs = [...this.jobs.values()].filter(job => job.seenMs <= this.nowMs).map(({ state }) => state)
    const plan = planResource(situationOf(this.resource, { jobs, nowMs: this.nowMs }))
    try {
      this.#carryOut(plan)
    } catch (error) {
      if (!(error instanceof Crash)) throw error
      this.crashes++
      this.#recheckAtMs = this.nowMs + 1000
      for (const job of this.jobs.values()) job.seenMs = Math.min(job.seenMs, this.nowMs)
    }
    return plan
  }

  #carryOut(plan: Plan): void {
    for (const action of plan.actions) this.#act(action)
    this.#mayCrash()
    if (this.#random() < this.#faults.lostStatus) throw new Crash()
    if (this.isGone) return
    this.resource = { ...this.resource, status: plan.status }
    for (const { run } of plan.ended) this.uncounted.add(run)
    this.#mayCrash()
    for (const { run } of plan.ended) this.uncounted.delete(run)
    this.reported.push(...plan.ended.map(({ run }) => run))
    this.events.push(...plan.events)
    for (const action of plan.after) this.#act(action)
    this.#recheckAtMs = plan.recheckAtMs
  }

  #mayCrash(): void {
    if (this.#random() < this.#faults.crash) throw new Crash()
  }

  #act(action: Action): void {
    this.#mayCrash()
    const { metadata } = this.resource
    if (action.type === 'start') this.#create(action)
    else if (action.type === 'remove-job') this.#remove(action.name)
    else if (action.type === 'stop-job') this.#stop(action.name)
    else if (action.type === 'add-finalizer') metadata.finalizers = ['kafka-backup.dev/delete-backup']
    else {
      delete metadata.finalizers
      this.isGone = metadata.deletionTimestamp !== undefined
    }
  }

  #create({ run, step, dueMs }: Extract<Action, { type: 'start' }>): void {
    const name = jobName(this.resource, run, step.stage)
    if (this.jobs.has(name)) return
    const { maxLagMs, jobMs, failures } = this.#faults
    const working = [...this.jobs.values()].filter(job => job.endMs > this.nowMs || job.state.end?.isStillTrying)
    if (working.length > 0) this.overlaps.push(`${run} beside ${working.map(({ state }) => state.run).join(', ')}`)
    this.created.push({ name, run, stage: step.stage, dueMs, atMs: this.nowMs })
    const { purpose, stage, shards, backupId } = step
    const end = this.nowMs + 5000 + Math.floor(this.#random() * jobMs)
    const isSuccess = this.#random() >= failures
    this.jobs.set(name, {
      state: {
        ...{ name, uid: `uid-${this.created.length}`, run, purpose, stage, shards, backupId, dueMs },
        ...{ createdMs: this.nowMs, isBeingDeleted: false, end: undefined, waiting: undefined, running: [] },
      },
      seenMs: this.nowMs + Math.floor(this.#random() * this.#faults.maxLagMs * (maxLagMs > 0 ? 1 : 0)),
      podMs: this.nowMs + 3000,
      endMs: end,
      isSuccess,
      isPermanentFailure: !isSuccess && this.#random() < 0.5,
      goneMs: undefined,
    })
  }

  #remove(name: string): void {
    const job = this.jobs.get(name)
    if (!job) return
    job.state = { ...job.state, isBeingDeleted: true }
    job.goneMs ??= this.nowMs + 2000
    job.endMs = Math.min(job.endMs, job.goneMs)
  }

  /** The Job controller fails a Job that has a failed pod and no try left. */
  #stop(name: string): void {
    const job = this.jobs.get(name)
    if (job?.state.end) job.state = { ...job.state, end: { ...job.state.end, isStillTrying: false } }
  }

  /** What pods and Jobs do by themselves. */
  #work(): void {
    for (const [name, job] of this.jobs) {
      if (job.goneMs !== undefined) {
        if (job.goneMs <= this.nowMs) this.jobs.delete(name)
      } else if (job.endMs <= this.nowMs && job.state.end === undefined) {
        const { isSuccess, isPermanentFailure: isStillTrying, endMs: completedMs } = job
        const end = { isSuccess, isStillTrying, completedMs, totals: { records: 10 } }
        job.state = {
          ...job.state,
          running: [],
          end: isSuccess ? end : { ...end, reason: 'KAFKA_DENIED', message: 'No.' },
        }
        this.endedByJob.set(name, isSuccess)
      } else if (job.podMs <= this.nowMs && job.state.end === undefined) {
        job.state = { ...job.state, running: [{ pod: `${name}-x`, ip: '127.0.0.2' }] }
      }
    }
  }
}
