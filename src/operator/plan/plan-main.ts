import { isMap } from '../../config/problem.ts'
import type { EndedRun, RunPurpose } from '../crd/status.ts'
import { type DueTimes, planTimes } from './due-times.ts'
import type { Facts } from './facts.ts'
import {
  dueOfKey,
  generationKey,
  isGenerationKey,
  type KeyPrefix,
  onceKey,
  scheduledKey,
  triggerKey,
} from './run-key.ts'
import { endRun, isKnown, type LiveRun, type Runs, stopRuns } from './runs.ts'
import { type DueRun, type Start, startRun } from './start-run.ts'
import { findStuck } from './stuck-runs.ts'
import { parseTime } from './times.ts'
import { blockerOf, pending, problemWait, referenceWait, secretsMessage, type Wait } from './wait.ts'

export interface MainPlan {
  /** With the runs ended that are replaced. */
  runs: Runs
  start?: Start
  wait?: Wait
  times?: DueTimes
  /** The next time of the schedule, or one that is due and waits. */
  nextScheduleMs?: number | undefined
  startedDueMs?: number
  /** A time of the schedule that is skipped because a run is still active. */
  skippedMs?: number
  /** The value of the trigger annotation that is acted on. */
  trigger?: string
}

interface Due extends DueRun {
  why: 'once' | 'generation' | 'scheduled' | 'trigger'
}

/** Which run of the resource itself is due, and whether it can start. */
export function planMain(facts: Facts, settled: Runs): MainPlan {
  const runs = stopEndless(facts, settled)
  const times = facts.isSuspended ? undefined : mainTimes(facts, runs)
  const scheduled = dueBySchedule(runs, times)
  const isSkipped = scheduled !== undefined && mainRuns(runs).length > 0 && policyOf(facts) === 'Forbid'
  const due = (isSkipped ? undefined : scheduled) ?? dueOtherwise(facts, runs)
  const base: MainPlan = {
    runs,
    ...(times && { times, nextScheduleMs: times.nextMs }),
    ...(isSkipped && { skippedMs: scheduled.dueMs }),
    ...actedOn(facts, runs),
  }
  return due ? planDue(facts, base, due) : { ...base, ...idleWait(facts) }
}

/** Starts the run, or waits: a waiting time of the schedule is still the next. */
function planDue(facts: Facts, base: MainPlan, due: Due): MainPlan {
  const isScheduled = due.why === 'scheduled'
  const waiting = { ...base, ...(isScheduled && { nextScheduleMs: due.dueMs }) }
  const lack = blockerOf(facts)
  if (lack) return { ...waiting, wait: lack }
  const policy = isScheduled ? policyOf(facts) : facts.isContinuous ? 'Replace' : 'Forbid'
  if (mainRuns(base.runs).length > 0 && policy === 'Forbid') return waiting
  const others = stopDrills(facts, base.runs)
  const runs = policy === 'Replace' ? stopMain(facts, others) : others
  const isStopping = blocksMain(facts, runs) || (policy === 'Replace' && mainRuns(runs).length > 0)
  if (isStopping) return { ...waiting, runs, wait: stopping }
  if (runs.live.some(({ purpose }) => purpose === 'verify')) return { ...waiting, runs, wait: verifyWait(facts, runs) }
  const isRequested = due.why === 'trigger' || due.why === 'generation'
  return {
    ...base,
    runs,
    start: startRun(facts, due),
    ...(isScheduled && { startedDueMs: due.dueMs }),
    ...(isRequested && facts.trigger !== undefined && { trigger: facts.trigger }),
  }
}

function mainRuns({ live }: Runs): LiveRun[] {
  return live.filter(({ purpose }) => purpose === 'main')
}

export function hasMainRun({ before }: Facts, { live, ended }: Runs): boolean {
  const hasEndedBefore = before.lastSuccessfulTime !== undefined || before.lastFailedTime !== undefined
  return hasEndedBefore || [...live, ...ended].some(({ purpose }) => purpose === 'main')
}

/** Scheduled times since the creation of a new resource count; times before a schedule was set do not. */
export function sinceMs({ before, resource, nowMs }: Facts): number {
  if (before.observedGeneration !== undefined) return nowMs
  return parseTime(resource.metadata.creationTimestamp) ?? nowMs
}

/** The latest scheduled time that a run is known of. */
export function handledMs({ live, ended }: Runs, prefix: KeyPrefix, known?: string): number | undefined {
  const keys = [...live, ...ended].map(({ run }) => dueOfKey(run, prefix))
  const times = [parseTime(known), ...keys].filter(ms => ms !== undefined)
  return times.length === 0 ? undefined : Math.max(...times)
}

function mainTimes(facts: Facts, runs: Runs): DueTimes | undefined {
  const { schedule, before, nowMs, resource } = facts
  const { startingDeadlineSeconds } = resource.spec ?? {}
  if (!schedule) return undefined
  return planTimes(schedule, {
    recordedMs: parseTime(before.nextScheduleTime),
    handledMs: handledMs(runs, '', before.lastScheduleTime),
    sinceMs: sinceMs(facts),
    nowMs,
    deadlineMs: startingDeadlineSeconds === undefined ? undefined : startingDeadlineSeconds * 1000,
  })
}

function dueBySchedule(runs: Runs, times: DueTimes | undefined): Due | undefined {
  if (times?.dueMs === undefined || isKnown(runs, scheduledKey(times.dueMs))) return undefined
  return { why: 'scheduled', run: scheduledKey(times.dueMs), purpose: 'main', dueMs: times.dueMs }
}

function dueOtherwise(facts: Facts, runs: Runs): Due | undefined {
  const { isContinuous, isSuspended, isScheduled, generation, trigger, nowMs } = facts
  const due = (why: Due['why'], run: string): Due => ({ why, run, purpose: 'main', dueMs: nowMs })
  const ofGeneration = generationKey(generation)
  if (isContinuous && !isSuspended && !isKnown(runs, ofGeneration)) return due('generation', ofGeneration)
  if (trigger !== undefined && mayTrigger(facts) && !isKnown(runs, triggerKey(trigger))) {
    return due('trigger', triggerKey(trigger))
  }
  const isOnce = !isContinuous && !isScheduled && !isSuspended
  return isOnce && !hasMainRun(facts, runs) ? due('once', onceKey) : undefined
}

/** A triggered backup runs even while the schedule is suspended. */
function mayTrigger({ controller, isContinuous, isSuspended }: Facts): boolean {
  return !isSuspended || (controller === 'backup' && !isContinuous)
}

/** A trigger value with a known run was acted on. */
function actedOn({ trigger }: Facts, runs: Runs): Pick<MainPlan, 'trigger'> {
  return trigger !== undefined && isKnown(runs, triggerKey(trigger)) ? { trigger } : {}
}

/** An invalid spec, an unusable storage or cluster, and a missing secret are reported before the next run is due. */
function idleWait(facts: Facts): Pick<MainPlan, 'wait'> {
  const { isScheduled, isContinuous, isSuspended, problem, missingSecrets } = facts
  if (problem && (isScheduled || isContinuous)) return { wait: problemWait(problem) }
  const unavailable = isScheduled && !isSuspended ? referenceWait(facts) : undefined
  if (unavailable) return { wait: unavailable }
  const isLacking = isScheduled && !isSuspended && missingSecrets.length > 0
  return isLacking ? { wait: pending('SecretMissing', secretsMessage(facts), true) } : {}
}

/** Two concurrent runs are safe only if each writes a separate backup. */
function policyOf({ resource }: Facts): 'Forbid' | 'Replace' | 'Allow' {
  const { concurrencyPolicy = 'Forbid', mode } = resource.spec ?? {}
  return concurrencyPolicy === 'Allow' && mode !== 'full' ? 'Forbid' : concurrencyPolicy
}

type Stop = Pick<EndedRun, 'phase' | 'reason' | 'message'>

const stopped: Stop = {
  phase: 'Completed',
  reason: 'Stopped',
  message: 'Stopped because the spec changed or the resource is suspended. Copied data is kept.',
}

const replaced: Stop = {
  phase: 'Failed',
  reason: 'Replaced',
  message: 'Still active when the next run was due, which replaced it (concurrencyPolicy: Replace).',
}

/** A run that was to end by itself has not done all that it was for. */
const becameContinuous: Stop = {
  phase: 'Failed',
  reason: 'Replaced',
  message: 'Still active when the backup became continuous, which replaced it. Committed data is kept.',
}

/** A continuous run stops only when it is suspended or no longer continuous. */
function stopEndless(facts: Facts, runs: Runs): Runs {
  const endless = mainRuns(runs).filter(isEndless)
  const isOver = !facts.isContinuous || facts.isSuspended
  return endless.length > 0 && isOver ? stopMain(facts, runs, endless) : runs
}

/** A trigger may have started it, and its Job may be gone. */
function isEndless({ run, jobs, todo }: LiveRun): boolean {
  return isGenerationKey(run) || todo === 'again' || jobs.some(({ isContinuous }) => isContinuous)
}

function stopMain(facts: Facts, runs: Runs, which = mainRuns(runs)): Runs {
  const { progress, nowMs } = facts
  const shown = progress && { records: progress.records, bytes: progress.bytes }
  // The progress is that of the newest run.
  const [newest] = mainRuns(runs).toSorted((one, other) => (one.startTime < other.startTime ? 1 : -1))
  const totalsOf = (run: LiveRun) => (run === newest ? shown : undefined)
  return stopRuns(runs, which, run => endRun(run, nowMs, { ...whyStopped(facts, run), totals: totalsOf(run) }))
}

function whyStopped({ isContinuous }: Facts, run: LiveRun): Stop {
  if (isEndless(run)) return stopped
  const stop = isContinuous ? becameContinuous : replaced
  const waiting = run.jobs.find(job => job.waiting !== undefined && job.end === undefined)?.waiting
  return waiting ? { ...stop, message: `${stop.message} ${waiting.message}` } : stop
}

/** A drill never delays a run of the backup: it runs next to it, or stops where both need the same volume. */
function blocksMain(facts: Facts, { live, lingering }: Runs): boolean {
  const isOther = ({ purpose }: { purpose: RunPurpose }) => purpose !== 'drill' || usesVolume(facts)
  return lingering.some(isOther) || live.some(({ purpose }) => purpose === 'drill' && usesVolume(facts))
}

/** Most volumes are mounted on one node at a time. */
function usesVolume({ resource, storage: referred }: Facts): boolean {
  const storage = referred?.section?.value ?? resource.spec?.storage
  return isMap(storage) && storage.pvc !== undefined
}

function stopDrills(facts: Facts, runs: Runs): Runs {
  const drills = usesVolume(facts) ? runs.live.filter(({ purpose }) => purpose === 'drill') : []
  return drills.length === 0 ? runs : stopRuns(runs, drills, run => endRun(run, facts.nowMs, preempted))
}

const preempted: Stop = {
  phase: 'Failed',
  reason: 'Preempted',
  message:
    'A run of the backup was due, and the drill used the volume that it needs. The drill deletes its topics; the next one starts at its time. Leave more time between spec.drill.schedule and spec.schedule.',
}

const stopping = pending('Stopping', 'The previous run has to stop first.')

/** A verification whose pod does not start would hold up all backups without a word. */
function verifyWait({ nowMs }: Facts, runs: Runs): Wait {
  const why = 'The run starts when the verification has ended.'
  const stuck = findStuck(runs, 'verify')
  if (!stuck || nowMs < stuck.atMs) return pending('WaitingForVerify', why, stuck !== undefined)
  return pending(stuck.reason, `${why} ${stuck.message}`)
}
