import type { Controller, Resource } from '../crd/resource.ts'
import type { EndedRun, Phase, RunPurpose } from '../crd/status.ts'
import { isGenerationKey } from '../plan/run-key.ts'
import type { CounterName, HistogramName } from './catalogue.ts'
import type { Labels } from './metric-set.ts'
import type { OwnedSeries } from './owned-series.ts'

/** A run that ended this shortly before counting began may not have been counted by any process. */
const RECENT_MS = 10 * 60_000

const unknown = { records: Number.MAX_SAFE_INTEGER, gaps: Number.MAX_SAFE_INTEGER }

/** Counts the runs of one resource. */
export class RunCounts {
  readonly #controller: Controller
  readonly #series: OwnedSeries
  /** Records counted by run; infinite for a run whose end is counted. */
  readonly #counted = new Map<string, number>()
  /** Runs that were active when the resource was first seen, until their pods report progress. */
  readonly #resumed = new Set<string>()
  /** Gaps counted by run, while it is under way. */
  readonly #gaps = new Map<string, { counted: number; isResumed: boolean }>()

  constructor(controller: Controller, series: OwnedSeries) {
    this.#controller = controller
    this.#series = series
  }

  /**
   * At the first sight: all series of both outcomes come into being, at zero. What a process before this one has
   * counted is not counted again: runs in the history, unless they ended just now, and records that the status shows.
   */
  begin(resource: Resource, nowMs: number): void {
    this.makeSeries(resource)
    const { history = [], active = [], progress } = resource.status ?? {}
    for (const run of history) {
      // A time to come is that of a clock that was ahead: every restart would count the run until then.
      if (Math.abs(nowMs - Date.parse(run.completionTime)) < RECENT_MS) this.#countRun(resource, run)
      this.#counted.set(run.run, Number.POSITIVE_INFINITY)
    }
    // It is that of the first one that reports any. What others have done is unknown here, and was counted.
    const [first, ...others] = active.filter(({ purpose }) => purpose !== 'drill')
    const older = others.filter(({ purpose }) => purpose === 'main')
    if (progress && first?.purpose === 'main') this.#resume(first.run, { gaps: 0, ...progress })
    if (progress) for (const { run } of older) this.#resume(run, unknown)
    // The pod of the first one may not run yet. Where pods report none at all, nothing was counted.
    else for (const { run } of older) this.#resumed.add(run)
  }

  #resume(run: string, { records, gaps }: { records: number; gaps: number }): void {
    this.#counted.set(run, records)
    this.#resumed.add(run)
    this.#gaps.set(run, { counted: gaps, isResumed: true })
  }

  /** Forgets runs that can no longer be reported. */
  trim({ status }: Resource): void {
    const kept = new Set(status?.history?.map(({ run }) => run))
    for (const [run, records] of this.#counted) {
      if (records === Number.POSITIVE_INFINITY && !kept.has(run)) this.#counted.delete(run)
    }
  }

  /**
   * A status may count pods that are gone and unknown to a new process: it continues from the first numbers of the current
   * pods, because a counter that waits for them to catch up would not move.
   */
  progressed(resource: Resource, run: string, { records, gaps = 0 }: { records: number; gaps?: number }): void {
    this.#countGaps(resource, run, gaps)
    // A pod that does other work by now, such as comparing, also reports none.
    if (records === 0) return
    if (this.#resumed.delete(run)) this.#counted.set(run, Math.min(records, this.#counted.get(run) ?? records))
    const active = resource.status?.active?.find(each => each.run === run)
    if (active === undefined || active.purpose === 'main') this.#countRecords(resource, run, records, 'success')
  }

  ended(resource: Resource, run: EndedRun): void {
    if (this.#counted.get(run.run) === Number.POSITIVE_INFINITY) return
    this.#resumed.delete(run.run)
    this.#countRun(resource, run)
    if (run.purpose === 'main') {
      const outcome = outcomeOf(run.phase)
      this.#countRecords(resource, run.run, run.records ?? 0, outcome)
      const { groups, labels } = runSeries[this.#controller]
      if (groups) this.#series.add(groups, labels(resource, outcome), run.groups ?? 0)
    }
    this.#counted.set(run.run, Number.POSITIVE_INFINITY)
    this.#gaps.delete(run.run)
  }

  /** Of both outcomes; the labels of a reset and a rollback change with their spec. */
  makeSeries(resource: Resource): void {
    const { runs, duration, records, groups, labels } = runSeries[this.#controller]
    for (const outcome of outcomes) {
      const named = labels(resource, outcome)
      for (const name of [runs, records, groups]) if (name) this.#series.add(name, named, 0)
      this.#series.begin(duration, named)
    }
    if (this.#controller !== 'backup') return
    this.#series.add('kafka_backup_gaps_total', backupLabels(resource), 0)
    this.#series.add('kafka_backup_verify_failures_total', backupLabels(resource), 0)
    if (resource.spec?.drill) this.#series.add('kafka_backup_drill_failures_total', backupLabels(resource), 0)
  }

  #countRun(resource: Resource, run: EndedRun): void {
    const failures = failureCounters[run.purpose]
    if (failures) this.#series.add(failures, backupLabels(resource), run.phase === 'Failed' ? 1 : 0)
    if (run.purpose !== 'main') return
    const { runs, duration, labels } = runSeries[this.#controller]
    const named = labels(resource, outcomeOf(run.phase))
    this.#series.add(runs, named, 1)
    const tookMs = Date.parse(run.completionTime) - Date.parse(run.startTime)
    const isTimed = !Number.isNaN(tookMs) && !isContinuous(resource, run)
    if (isTimed) this.#series.observe(duration, named, Math.max(0, tookMs) / 1000)
    this.#countGaps(resource, run.run, run.gaps ?? 0)
  }

  /** A continuous run may never end, so its gaps count as its pods find them. */
  #countGaps(resource: Resource, run: string, gaps: number): void {
    if (this.#controller !== 'backup' || this.#counted.get(run) === Number.POSITIVE_INFINITY) return
    const isResuming = this.#resumed.has(run)
    const { counted, isResumed } = this.#gaps.get(run) ?? { counted: isResuming ? gaps : 0, isResumed: isResuming }
    const before = isResumed ? Math.min(counted, gaps) : counted
    this.#series.add('kafka_backup_gaps_total', backupLabels(resource), Math.max(0, gaps - before))
    this.#gaps.set(run, { counted: Math.max(before, gaps), isResumed: false })
  }

  #countRecords(resource: Resource, run: string, records: number, outcome: 'success' | 'failure'): void {
    const before = this.#counted.get(run) ?? 0
    const { records: name, labels } = runSeries[this.#controller]
    if (name === undefined || records <= before) return
    this.#series.add(name, labels(resource, outcome), records - before)
    this.#counted.set(run, records)
  }
}

/** Its duration says only when it was stopped. The spec may have changed since, which its key and its reason have not. */
function isContinuous({ spec }: Resource, { run, reason }: EndedRun): boolean {
  return spec?.backup?.continuous === true || isGenerationKey(run) || reason === 'Stopped'
}

export const outcomes = ['success', 'failure'] as const

type RunOutcome = (typeof outcomes)[number]

const failureCounters: Partial<Record<RunPurpose, CounterName>> = {
  verify: 'kafka_backup_verify_failures_total',
  drill: 'kafka_backup_drill_failures_total',
}

/** What a controller's runs are counted in. */
interface RunSeries {
  runs: CounterName
  duration: HistogramName
  records?: CounterName
  groups?: CounterName
  labels(resource: Resource, outcome: RunOutcome): Labels
}

const runSeries: Record<Controller, RunSeries> = {
  backup: {
    runs: 'kafka_backup_backups_total',
    duration: 'kafka_backup_backup_duration_seconds',
    records: 'kafka_backup_backup_records_total',
    labels: (resource, outcome) => ({ ...backupLabels(resource), outcome }),
  },
  restore: {
    runs: 'kafka_backup_restores_total',
    duration: 'kafka_backup_restore_duration_seconds',
    records: 'kafka_backup_restore_records_total',
    labels: (resource, outcome) => ({ restore_name: resource.metadata.name, ...inNamespace(resource), outcome }),
  },
  offset_reset: {
    runs: 'kafka_backup_offset_resets_total',
    duration: 'kafka_backup_offset_reset_duration_seconds',
    groups: 'kafka_backup_offset_reset_groups_total',
    labels: (resource, outcome) => ({
      reset_name: resource.metadata.name,
      ...inNamespace(resource),
      strategy: resource.spec.strategy ?? '',
      outcome,
    }),
  },
  offset_rollback: {
    runs: 'kafka_backup_offset_rollbacks_total',
    duration: 'kafka_backup_offset_rollback_duration_seconds',
    groups: 'kafka_backup_offset_rollback_groups_total',
    labels: (resource, outcome) => ({
      rollback_name: resource.metadata.name,
      ...inNamespace(resource),
      operation: resource.spec.operation ?? 'rollback',
      outcome,
    }),
  },
}

function backupLabels(resource: Resource): Labels {
  return { backup_name: resource.metadata.name, ...inNamespace(resource) }
}

export function outcomeOf(phase: Phase | undefined): RunOutcome {
  return phase === 'Completed' ? 'success' : 'failure'
}

function inNamespace({ metadata }: Resource): { namespace: string } {
  return { namespace: metadata.namespace ?? '' }
}
