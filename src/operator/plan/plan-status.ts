import type { ActiveRun, EndedRun, ResourceStatus, RunProgress } from '../crd/status.ts'
import { storedAt } from './backup-location.ts'
import { planConditions } from './conditions.ts'
import { type Decision, workingRuns } from './decision.ts'
import { drillStatus } from './drill-status.ts'
import type { Facts } from './facts.ts'
import { planPhase, type ShownPhase } from './phase.ts'
import { handledMs } from './plan-main.ts'
import { lastSuccessTime } from './rounds.ts'
import type { LiveRun, Runs } from './runs.ts'
import { lastOf, planHistory, specOf } from './runs.ts'
import { scheduleTimes } from './schedule-times.ts'
import { formatTime, laterTime, latestSuccess } from './times.ts'

/** The complete status: fields without news keep their values. */
export function planStatus(facts: Facts, decision: Decision): ResourceStatus {
  const { before, generation } = facts
  const shown = planPhase(facts, decision)
  const active = activeRuns(decision)
  const history = planHistory(facts, decision.runs)
  const progress = progressOf(facts, active)
  const times = timeFields(facts, decision, history)
  const drill = drillStatus(facts, decision, history)
  return present({
    phase: shown.phase,
    reason: shown.reason,
    message: shown.message,
    observedGeneration: generation,
    conditions: planConditions(facts, decision, shown),
    ...runFields(facts, shown, history, progress),
    ...times,
    drill,
    schedules: scheduleTimes(facts, { verify: times.lastVerifyTime, drill: drill?.lastProvenTime }),
    storageLocation: storedAt(facts, decision),
    lastTrigger: decision.trigger ?? before.lastTrigger,
    progress,
    active: active.length > 0 ? active : undefined,
    history: history.length > 0 ? history : undefined,
  })
}

type Fields = { [Name in keyof ResourceStatus]: ResourceStatus[Name] | undefined }

function activeRuns(decision: Decision): ActiveRun[] {
  return workingRuns(decision).map(live => {
    const { run, purpose, job, startTime, backupId } = live
    return { run, purpose, job, startTime, ...(backupId !== undefined && { backupId }), ...specOf(live) }
  })
}

/** Fields of the last run; what only an ended run reports stays until the next one reports it. */
function runFields(
  { before }: Facts,
  { live, ended }: ShownPhase,
  history: readonly EndedRun[],
  progress: RunProgress | undefined,
): Fields {
  const last = lastOf(history, 'main')
  const firstReported = <Name extends 'storedBytes' | 'snapshotId' | 'mayHoldDeletedKeys' | 'estimate'>(name: Name) =>
    history.find(run => run.purpose === 'main' && run[name] !== undefined)?.[name] ?? before[name]
  const counted = live ? progress : last
  return {
    startTime: live?.startTime ?? ended?.startTime ?? last?.startTime,
    completionTime: ended?.completionTime,
    restarts: live && restartsOf(live),
    records: counted?.records,
    bytes: counted?.bytes,
    storedBytes: progress?.storedBytes ?? firstReported('storedBytes'),
    gaps: last?.gaps,
    mayHoldDeletedKeys: firstReported('mayHoldDeletedKeys'),
    estimate: firstReported('estimate'),
    backupId: live?.backupId ?? last?.backupId,
    snapshotId: firstReported('snapshotId'),
    report: last?.report,
  }
}

function restartsOf({ jobs }: LiveRun): number {
  return jobs.reduce((sum, { failedPods }) => sum + (failedPods?.count ?? 0), 0)
}

function timeFields(facts: Facts, { main, verify, runs }: Decision, history: readonly EndedRun[]): Fields {
  const { before } = facts
  const verified = history.find(({ purpose, phase }) => purpose === 'verify' && phase === 'Completed')
  const failed = history.find(({ purpose, phase }) => purpose === 'main' && phase === 'Failed')
  const adopted = timeOf(handledMs(newRuns(before, runs), ''))
  return {
    lastSuccessfulTime: lastSuccessTime(facts, history),
    lastFailedTime: laterTime(before.lastFailedTime, failed?.completionTime),
    lastScheduleTime: timeOf(main?.startedDueMs) ?? laterTime(before.lastScheduleTime, adopted),
    nextScheduleTime: timeOf(main?.nextScheduleMs),
    lastVerifyTime: latestSuccess(facts, before.lastVerifyTime, verified),
    nextVerifyTime: timeOf(verify?.nextVerifyMs),
  }
}

/** Runs of Jobs that the previous status does not have. */
function newRuns({ active = [], history = [] }: ResourceStatus, { live, ended, lingering }: Runs): Runs {
  const known = new Set([...active, ...history].map(({ run }) => run))
  const isNew = ({ run }: ActiveRun) => !known.has(run)
  return { live: live.filter(isNew), ended: ended.filter(isNew), lingering }
}

function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : formatTime(ms)
}

/** Between two polls it keeps the last value. */
function progressOf({ before, progress }: Facts, active: readonly ActiveRun[]): RunProgress | undefined {
  const first = active.find(isMeasured)
  if (!first) return undefined
  if (!progress) return before.active?.find(isMeasured)?.run === first.run ? before.progress : undefined
  const whole = (count: number) => Math.max(0, Math.floor(count) || 0)
  return { ...progress, records: whole(progress.records), bytes: whole(progress.bytes) }
}

/** Drills report no progress, and may run next to a backup that does. */
function isMeasured({ purpose }: ActiveRun): boolean {
  return purpose !== 'drill'
}

function present(fields: Fields): ResourceStatus {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
