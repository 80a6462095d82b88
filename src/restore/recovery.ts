import { type Clock, formatUtc } from '../lib/clock.ts'
import type { ProgressEvent } from '../observe/progress.ts'
import type { RateTraits } from './earlier-rates.ts'
import type { Estimate, Limit, RateSource } from './estimate.ts'
import type { Writing } from './fill.ts'

/** How long a restore took and what limited it, next to what was estimated. */
export interface Recovery extends RateTraits {
  measuredAt: string
  /** Of registering schemas, and how many requests that took. */
  schemasMs: number
  registryRequests: number
  recordsMs: number
  bytes: number
  comparisonMs: number
  groupsMs: number
  limitedBy: Writing['limitedBy']
  /** Absent where none was made: the restore was shorter than the first seconds. */
  estimate?: ComparedEstimate
}

export interface ComparedEstimate {
  seconds: number
  precision: Estimate['precision']
  limitedBy: Limit | null
  source: RateSource
  /** What the estimated work took. */
  actualSeconds: number
}

/** Pure. The estimate next to the time of the same work: of records, and of schemas where it knew the registry. */
export function compareEstimate(
  { seconds, precision, limitedBy, source, notIncluded }: Estimate,
  { schemasMs, recordsMs }: Pick<Recovery, 'schemasMs' | 'recordsMs'>,
): ComparedEstimate | undefined {
  if (seconds === null || source === null) return undefined
  const actualMs = recordsMs + (notIncluded.includes('registry') ? 0 : schemasMs)
  return { seconds, precision, limitedBy, source, actualSeconds: actualMs / 1000 }
}

/** By then caches are warm and all connections are open. */
const FIRST_MS = 10_000

/** Takes the times of a restore while it runs. */
export class RecoveryWatch {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  readonly #first: FirstSeconds
  #schemasMs = 0
  #groupsMs = 0

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock
    this.#first = new FirstSeconds(clock)
  }

  add(event: ProgressEvent): void {
    this.#first.add(event)
  }

  async timeSchemas<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = this.#clock.monotonic()
    const result = await work()
    this.#schemasMs = this.#clock.monotonic() - startedAt
    return result
  }

  async timeGroups<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = this.#clock.monotonic()
    const result = await work()
    this.#groupsMs = this.#clock.monotonic() - startedAt
    return result
  }

  /** Undefined where neither records nor schemas had to be written. */
  describe(
    { writing, verification, schemas }: WatchedReport,
    traits: RateTraits,
    estimate: Estimate | undefined,
  ): Recovery | undefined {
    const hasSchemas = schemas !== undefined && !schemas.wasComplete
    if (!writing && !hasSchemas) return undefined
    const times = { schemasMs: hasSchemas ? this.#schemasMs : 0, recordsMs: writing?.ms ?? 0 }
    const compared = estimate ? compareEstimate(estimate, times) : this.#first.compare(times.recordsMs)
    return {
      ...traits,
      measuredAt: formatUtc(this.#clock.now()),
      ...times,
      registryRequests: hasSchemas ? schemas.requests : 0,
      bytes: writing?.bytes ?? 0,
      comparisonMs: verification?.durationMs ?? 0,
      groupsMs: this.#groupsMs,
      limitedBy: writing?.limitedBy ?? null,
      ...(compared && { estimate: compared }),
    }
  }
}

interface WatchedReport {
  writing?: Writing
  verification?: { durationMs: number }
  schemas?: { wasComplete: boolean; requests: number }
}

/** An estimate of the time that writing records takes, from the first seconds of it. */
export class FirstSeconds {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  #begun: { ms: number; records: bigint } | undefined
  #records = 0
  #estimate: { seconds: number; at: string } | undefined

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock
  }

  add(event: ProgressEvent): void {
    if (event.type === 'planned' && event.unit === 'records') {
      this.#begun = { ms: this.#clock.monotonic(), records: event.offsets }
    }
    if (event.type !== 'copied' || !this.#begun || this.#estimate) return
    this.#records += event.records
    const elapsedMs = this.#clock.monotonic() - this.#begun.ms
    if (elapsedMs < FIRST_MS) return
    const fraction = Math.min(1, this.#records / Number(this.#begun.records))
    this.#estimate = { seconds: elapsedMs / fraction / 1000, at: formatUtc(this.#clock.now()) }
  }

  /** Undefined where writing took less. */
  compare(recordsMs: number): ComparedEstimate | undefined {
    if (!this.#estimate) return undefined
    const { seconds, at } = this.#estimate
    const source = { kind: 'first_seconds' as const, at }
    return { seconds, precision: 'about', limitedBy: null, source, actualSeconds: recordsMs / 1000 }
  }
}
