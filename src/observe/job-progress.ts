import { type Clock, formatUtc } from '../lib/clock.ts'
import { formatJson } from '../lib/json.ts'
import type { ProgressFieldName } from './job-progress-catalogue.ts'
import type { ProgressEvent } from './progress.ts'
import { ProgressMeter, phaseOf, type Reading } from './progress-meter.ts'

export interface JobProgressOptions {
  job: string
  backupId: string
  version: string
  clock: Pick<Clock, 'now' | 'monotonic'>
}

type Page = Record<ProgressFieldName, string | number | bigint | null>

/** Turns what a run tells into the page `/progress`: how far it is, for whoever waits for it. */
export class JobProgress {
  readonly #options: JobProgressOptions
  readonly #meter: ProgressMeter
  readonly #startedMs: number
  #lastEventMs: number
  #groups: { done: number; total: number } | undefined
  #last: 'schemas' | 'groups' | undefined
  #lastRoundMs: number | undefined
  #storedBytes: number | undefined
  #warnings = 0
  #gaps = 0
  #retries = 0

  constructor(options: JobProgressOptions) {
    this.#options = options
    this.#meter = new ProgressMeter(options.clock.monotonic())
    this.#startedMs = options.clock.now()
    this.#lastEventMs = this.#startedMs
  }

  onProgress(event: ProgressEvent): void {
    this.#meter.add(event, this.#options.clock.monotonic())
    this.#lastEventMs = this.#options.clock.now()
    if (event.type === 'groups') this.#groups = { done: event.done, total: event.total }
    if (event.type === 'schemas' || event.type === 'groups') this.#last = event.type
    if (event.type === 'planned') this.#last = undefined
    if (event.type === 'round' && event.ok) this.#lastRoundMs = this.#lastEventMs
    if (event.type === 'measured') this.#storedBytes = event.storedBytes
    if (event.type === 'warning') this.#warnings++
    if (event.type === 'gap') this.#gaps++
    if (event.type === 'retry') this.#retries++
  }

  format(): string {
    return `${formatJson(this.#page())}\n`
  }

  #page(): Page {
    const { job, backupId, version, clock } = this.#options
    const reading = this.#meter.read(clock.monotonic())
    return {
      job,
      backup_id: backupId,
      version,
      phase: this.#phaseOf(reading),
      fraction: reading.task ? round(reading.fraction, 4) : null,
      records: reading.records,
      bytes: reading.bytes,
      objects: reading.objects,
      ...plannedOf(reading),
      schemas: reading.schemas?.done ?? null,
      planned_schemas: reading.schemas?.total ?? null,
      groups: this.#groups?.done ?? null,
      planned_groups: this.#groups?.total ?? null,
      bytes_per_second: round(reading.bytesPerSecond, 1),
      remaining_seconds: remainingOf(reading),
      last_round_at: this.#lastRoundMs === undefined ? null : formatUtc(this.#lastRoundMs),
      generation: reading.generation ?? null,
      stored_bytes: this.#storedBytes ?? null,
      warnings: this.#warnings,
      gaps: this.#gaps,
      retries: this.#retries,
      started_at: formatUtc(this.#startedMs),
      last_event_at: formatUtc(this.#lastEventMs),
    }
  }

  #phaseOf(reading: Reading): string {
    if (reading.idleMs !== undefined) return reading.isBehind ? 'retrying' : 'waiting'
    if (this.#last) return this.#last
    if (reading.task === undefined) return 'preparing'
    if ('objects' in reading.task) return 'verifying'
    return phaseOf(reading.task) === 'compare' ? 'comparing' : 'copying'
  }
}

const nothingPlanned = {
  planned_topics: null,
  planned_partitions: null,
  planned_offsets: null,
  planned_records: null,
  planned_objects: null,
  planned_bytes: null,
}

function plannedOf({ task }: Reading): Pick<Page, keyof typeof nothingPlanned> {
  if (task === undefined) return nothingPlanned
  if ('objects' in task) return { ...nothingPlanned, planned_objects: task.objects, planned_bytes: task.bytes }
  const { topics, partitions, offsets, unit } = task
  const amount = unit === 'records' ? { planned_records: offsets } : { planned_offsets: offsets }
  return { ...nothingPlanned, planned_topics: topics, planned_partitions: partitions, ...amount }
}

/** Before there is a plan nobody knows what remains. */
function remainingOf({ task, remainingMs }: Reading): number | null {
  return task === undefined || remainingMs === undefined ? null : Math.ceil(remainingMs / 1000)
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
