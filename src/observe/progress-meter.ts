import type { ProgressEvent } from './progress.ts'
import { SmoothRate } from './smooth-rate.ts'
import { TopicMeter, type TopicsReading } from './topic-meter.ts'

/** How far an operation is at a moment. */
export interface Reading {
  /** The work as text; empty while it is unknown. */
  task:
    | { topics: number; partitions: number; offsets: bigint; unit?: 'records'; isMost?: boolean; phase?: 'compare' }
    | { objects: number; bytes: number; verb: 'read' | 'copy' }
    | undefined
  /** From 0 to 1. */
  fraction: number
  records: number
  objects: number
  bytes: number
  elapsedMs: number
  bytesPerSecond: number
  /** At a rate that changes slowly; undefined while it is not known. */
  remainingMs: number | undefined
  /** A continuous run that is up to date looks again after this time. */
  idleMs: number | undefined
  /** The last round of a continuous run failed. */
  isBehind: boolean
  generation: number | undefined
  /** Schema versions that are registered, before the records come. */
  schemas: { done: number; total: number } | undefined
  /** Where the plan names the topics. */
  topics: TopicsReading | undefined
}

interface Sample {
  ms: number
  bytes: number
}

const WINDOW_MS = 5000
const SAMPLE_MS = 200

/** Adds up what the events tell, and how fast it went during the last seconds. */
export class ProgressMeter {
  #task: Reading['task']
  #startMs: number
  #offsets = 0n
  #records = 0
  #objects = 0
  #bytes = 0
  #samples: Sample[]
  #idleUntilMs: number | undefined
  #isBehind = false
  #generation: number | undefined
  #schemas: Reading['schemas']
  #rate: SmoothRate
  #topics: TopicMeter | undefined

  constructor(nowMs: number) {
    this.#startMs = nowMs
    this.#samples = [{ ms: nowMs, bytes: 0 }]
    this.#rate = new SmoothRate(0, nowMs)
  }

  get isPlanned(): boolean {
    return this.#task !== undefined
  }

  add(event: ProgressEvent, nowMs: number): void {
    this.#topics?.add(event, nowMs)
    if (event.type === 'idle') this.#idleUntilMs = nowMs + event.ms
    else if (event.type === 'committed' || event.type === 'resumed') this.#generation = event.generation
    else if (event.type === 'schemas') this.#schemas = { done: event.done, total: event.total }
    else if (event.type === 'round') {
      this.#isBehind = !event.ok
      if (!event.ok) this.#idleUntilMs = nowMs
    } else if (event.type === 'planned') {
      this.#idleUntilMs = undefined
      const { type: _, byTopic, ...task } = event
      this.#topics = byTopic && new TopicMeter(byTopic)
      this.#start(task, nowMs)
    } else if (event.type === 'copied' || event.type === 'compared') {
      this.#offsets += event.offsets
      this.#records += event.records
      this.#bytes += event.bytes
      this.#sample(nowMs)
    } else if (event.type === 'checked' || event.type === 'transferred') {
      const task = { objects: event.totalObjects, bytes: event.totalBytes }
      if (this.#task === undefined && event.type === 'transferred') this.#start({ ...task, verb: 'copy' }, nowMs)
      this.#task ??= { ...task, verb: 'read' }
      this.#objects = event.objects
      this.#bytes = event.bytes
      this.#sample(nowMs)
    }
  }

  read(nowMs: number): Reading {
    // A look is a sample too: while nothing arrives the rate has to fall.
    this.#sample(nowMs)
    const fraction = this.#fraction()
    const oldest = this.#samples[0] ?? { ms: nowMs, bytes: this.#bytes }
    const seconds = Math.max(nowMs - oldest.ms, 1) / 1000
    const fractionPerMs = this.#rate.read(fraction, nowMs)
    return {
      task: this.#task,
      fraction,
      records: this.#records,
      objects: this.#objects,
      bytes: this.#bytes,
      elapsedMs: nowMs - this.#startMs,
      bytesPerSecond: (this.#bytes - oldest.bytes) / seconds,
      remainingMs: fraction >= 1 ? 0 : fractionPerMs === undefined ? undefined : (1 - fraction) / fractionPerMs,
      idleMs: this.#idleUntilMs === undefined ? undefined : Math.max(0, this.#idleUntilMs - nowMs),
      isBehind: this.#isBehind,
      generation: this.#generation,
      schemas: this.#schemas,
      topics: this.#topics?.read(nowMs),
    }
  }

  /** The clock of the rate starts with the work, not with the preparations. */
  #start(task: Reading['task'], nowMs: number): void {
    // A later round has its own end to reach; what was done before stays counted. Another phase is other work.
    if (phaseOf(task) !== phaseOf(this.#task)) {
      this.#records = 0
      this.#bytes = 0
      this.#startMs = nowMs
    }
    if (this.#task === undefined) this.#startMs = nowMs
    this.#task = task
    this.#offsets = 0n
    this.#samples = [{ ms: nowMs, bytes: this.#bytes }]
    this.#rate = new SmoothRate(0, nowMs)
  }

  #fraction(): number {
    if (this.#task === undefined) return 0
    if ('objects' in this.#task) return share(this.#bytes, this.#task.bytes)
    return share(Number(this.#offsets), Number(this.#task.offsets))
  }

  #sample(nowMs: number): void {
    const last = this.#samples.at(-1)
    if (last === undefined || nowMs - last.ms >= SAMPLE_MS) {
      this.#samples.push({ ms: nowMs, bytes: this.#bytes })
    }
    this.#rate.add(this.#fraction(), nowMs)
    // The last sample before the window stays: what is rare must not look like nothing.
    while ((this.#samples[1]?.ms ?? Number.POSITIVE_INFINITY) <= nowMs - WINDOW_MS) this.#samples.shift()
  }
}

export function phaseOf(task: Reading['task']): 'compare' | undefined {
  return task !== undefined && 'phase' in task ? task.phase : undefined
}

function share(done: number, total: number): number {
  return total <= 0 ? 1 : Math.min(1, done / total)
}
