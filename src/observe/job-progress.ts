import { type Clock, formatUtc } from '../lib/clock.ts'
import { formatJson } from '../lib/json.ts'
import type { ProgressEvent } from './progress.ts'
import { ProgressMeter, phaseOf, type Reading } from './progress-meter.ts'
import type { TopicReading } from './topic-meter.ts'

interface JobProgressOptions {
  job: string
  backupId: string
  version: string
  clock: Pick<Clock, 'now' | 'monotonic'>
}

type Page = Record<ProgressFieldName, string | number | bigint | null | readonly object[]>

/** Turns the events of a run into the page `/progress`. */
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
    if (event.type === 'groups' || event.type === 'released') this.#groups = { done: event.done, total: event.total }
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
      topics_done: reading.topics?.done ?? null,
      active_topics: reading.topics ? reading.topics.active.map(topicDocument) : null,
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

/** Unknown before there is a plan. */
function remainingOf({ task, remainingMs }: Reading): number | null {
  return task === undefined || remainingMs === undefined ? null : Math.ceil(remainingMs / 1000)
}

function topicDocument({ topic, records, planned: planned_records, fraction, remainingMs }: TopicReading) {
  const remaining_seconds = remainingMs === undefined ? null : Math.ceil(remainingMs / 1000)
  return { topic, records, planned_records, fraction: round(fraction, 4), remaining_seconds }
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

/** Every field of `/progress`, in its order; docs/metrics.md is generated from this table. */
export interface ProgressField {
  type: 'text' | 'integer' | 'number' | 'time' | 'list'
  /** Null where it is not known, or means nothing to this job. */
  isNullable: boolean
  help: string
}

const text = (help: string) => ({ type: 'text', isNullable: false, help }) as const
const time = (help: string) => ({ type: 'time', isNullable: false, help }) as const
const count = (help: string) => ({ type: 'integer', isNullable: false, help }) as const
const planned = (help: string) => ({ type: 'integer', isNullable: true, help }) as const
const estimate = (help: string) => ({ type: 'number', isNullable: true, help }) as const

export const progressFields = {
  job: text('What runs: `backup`, `restore`, `verify`, `compare`, `schemas backup` or `schemas restore`.'),
  backup_id: text('The backup that it is about.'),
  version: text('The version of the program.'),
  phase: text(
    '`preparing` until there is a plan; then `copying`, `comparing` or `verifying`; `schemas` and `groups` while a restore brings these over; `waiting` and `retrying` between the rounds of a continuous run, the latter after one that failed.',
  ),
  fraction: estimate('How much of the plan is done, from 0 to 1. Each round of a continuous run has its own plan.'),
  records: count('Records that were copied, or compared, since the phase began.'),
  bytes: count('Their bytes; for `verify`, the bytes that were read.'),
  objects: count('Objects that `verify` has checked.'),
  planned_topics: planned('Topics of the plan.'),
  planned_partitions: planned('Partitions of the plan.'),
  planned_offsets: planned('Offsets to copy or to compare: at least as many as records, as there are holes.'),
  planned_records: planned('Records that a restore writes, about.'),
  planned_objects: planned('Objects that `verify` checks.'),
  planned_bytes: planned('Bytes that `verify` reads.'),
  topics_done: planned('Topics of a restore that have all their records.'),
  active_topics: {
    type: 'list',
    isNullable: true,
    help: 'Topics that a restore fills at the moment, at most 20: `topic` (its name on the target), `records`, `planned_records` (about), `fraction` and `remaining_seconds`, null while it is not known.',
  },
  schemas: planned('Versions of schemas that are registered.'),
  planned_schemas: planned('Versions of schemas to register.'),
  groups: planned('Consumer groups that have their positions.'),
  planned_groups: planned('Consumer groups to carry over.'),
  bytes_per_second: {
    type: 'number',
    isNullable: false,
    help: 'Over the last five seconds.',
  },
  remaining_seconds: estimate(
    'At a rate that changes slowly: older seconds count less. Null before anything has moved, and after half a minute in which nothing did.',
  ),
  last_round_at: {
    type: 'time',
    isNullable: true,
    help: 'When the last round of a continuous run ended well: all that was there when it began is committed.',
  },
  generation: planned('The newest generation of the backup that this run continues from or has committed.'),
  stored_bytes: planned(
    'What the whole backup occupies in the store, as a continuous run measured it: after its first round, then once an hour.',
  ),
  warnings: count('Warnings since the start.'),
  gaps: count('Ranges of offsets that the source lost before they were read, found since the start.'),
  retries: count('Requests that were made again after trouble.'),
  started_at: time('When the job began.'),
  last_event_at: time('When it last reported anything; a job that hangs does not.'),
} as const satisfies Record<string, ProgressField>

type ProgressFieldName = keyof typeof progressFields
