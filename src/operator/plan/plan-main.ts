import type { EndedRun } from '../resource/status.ts'
import { type DueTimes, planTimes } from './due-times.ts'
import { endRun } from './end-run.ts'
import type { Facts } from './facts.ts'
import { dueOfKey, generationKey, onceKey, scheduledKey, triggerKey } from './run-key.ts'
import { isKnown, type LiveRun, type Runs, stopRuns } from './runs.ts'
import { type DueRun, type Start, startRun } from './start-run.ts'
import { parseTime } from './times.ts'
import { lackOf, pending, problemWait, type Wait } from './wait.ts'

export interface MainPlan {
  /** With those ended that have to make room. */
  runs: Runs
  start?: Start
  wait?: Wait
  times?: DueTimes
  /** What the schedule says, or what is due and waits. */
  nextScheduleMs?: number | undefined
  startedDueMs?: number
  /** A time of the schedule that is left out, since a run is still active. */
  skippedMs?: number
  /** The value of the trigger annotation that is acted on. */
  trigger?: string
}

interface Due extends DueRun {
  why: 'once' | 'generation' | 'scheduled' | 'trigger'
}

/** Which run of the resource itself is due, and whether it can start. */
export function planMain(facts: Facts, settled: Runs): MainPlan {
  const runs = facts.isContinuous && facts.isSuspended ? stopMain(facts, settled, stopped) : settled
  const times = facts.isSuspended ? undefined : mainTimes(facts, runs)
  const due = dueRun(facts, runs, times)
  const base = { runs, ...(times && { times, nextScheduleMs: times.nextMs }), ...actedOn(facts, runs) }
  if (!due) return { ...base, ...idleWait(facts) }
  const isWithinSchedule = due.why === 'scheduled'
  const live = mainRuns(runs)
  const policy = policyOf(facts)
  if (isWithinSchedule && live.length > 0 && policy === 'Forbid') return { ...base, skippedMs: due.dueMs }
  const waiting = { ...base, ...(isWithinSchedule && { nextScheduleMs: due.dueMs }) }
  const lack = lackOf(facts)
  if (lack) return { ...waiting, wait: lack }
  if (live.length > 0 && policy !== 'Allow') {
    if (!facts.isContinuous && !(isWithinSchedule && policy === 'Replace')) return waiting
    const why = facts.isContinuous ? stopped : replaced
    return { ...waiting, runs: stopMain(facts, runs, why), wait: stopping }
  }
  if (runs.live.some(({ purpose }) => purpose === 'verify')) return { ...waiting, wait: behindVerify }
  if (runs.lingering.length > 0) return { ...waiting, wait: stopping }
  const acted = due.why === 'trigger' || due.why === 'generation' ? facts.trigger : undefined
  return {
    ...base,
    start: startRun(facts, due),
    ...(isWithinSchedule && { startedDueMs: due.dueMs }),
    ...(acted !== undefined && { trigger: acted }),
  }
}

export function mainRuns({ live }: Runs): LiveRun[] {
  return live.filter(({ purpose }) => purpose === 'main')
}

export function hasMainRun({ before }: Facts, { live, ended }: Runs): boolean {
  const isTold = before.lastSuccessfulTime !== undefined || before.lastFailedTime !== undefined
  return isTold || [...live, ...ended].some(({ purpose }) => purpose === 'main')
}

/** Times that a resource had before anybody looked at it count; those before a schedule was there do not. */
export function sinceMs({ before, resource, nowMs }: Facts): number {
  if (before.observedGeneration !== undefined) return nowMs
  return parseTime(resource.metadata.creationTimestamp) ?? nowMs
}

/** The latest scheduled time that a run is known of. */
export function handledMs({ live, ended }: Runs, prefix: '' | 'verify-', told?: string): number | undefined {
  const known = [...live, ...ended].map(({ run }) => dueOfKey(run, prefix))
  const times = [parseTime(told), ...known].filter(ms => ms !== undefined)
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

function dueRun(facts: Facts, runs: Runs, times: DueTimes | undefined): Due | undefined {
  const { isContinuous, isSuspended, isScheduled, generation, trigger, nowMs } = facts
  const due = (why: Due['why'], run: string, dueMs = nowMs): Due => ({ why, run, purpose: 'main', dueMs })
  const ofGeneration = generationKey(generation)
  if (isContinuous && !isSuspended && !isKnown(runs, ofGeneration)) return due('generation', ofGeneration)
  if (times?.dueMs !== undefined && !isKnown(runs, scheduledKey(times.dueMs))) {
    return due('scheduled', scheduledKey(times.dueMs), times.dueMs)
  }
  if (trigger !== undefined && mayTrigger(facts) && !isKnown(runs, triggerKey(trigger))) {
    return due('trigger', triggerKey(trigger))
  }
  const isOnce = !isContinuous && !isScheduled && !isSuspended
  return isOnce && !hasMainRun(facts, runs) ? due('once', onceKey) : undefined
}

/** Whoever asks for a backup means it, also while the schedule is suspended. */
function mayTrigger({ controller, isContinuous, isSuspended }: Facts): boolean {
  return !isSuspended || (controller === 'backup' && !isContinuous)
}

/** A value that a run is known of was acted on: just now, before the status was lost, or long ago. */
function actedOn({ trigger }: Facts, runs: Runs): Pick<MainPlan, 'trigger'> {
  return trigger !== undefined && isKnown(runs, triggerKey(trigger)) ? { trigger } : {}
}

/** A spec that can be run no more is told of before the next run is due. */
function idleWait({ isScheduled, isContinuous, problem }: Facts): Pick<MainPlan, 'wait'> {
  return problem && (isScheduled || isContinuous) ? { wait: problemWait(problem) } : {}
}

/** Two runs at once are safe only where each has a backup of its own. */
function policyOf({ resource }: Facts): 'Forbid' | 'Replace' | 'Allow' {
  const { concurrencyPolicy = 'Forbid', mode } = resource.spec ?? {}
  return concurrencyPolicy === 'Allow' && mode !== 'full' ? 'Forbid' : concurrencyPolicy
}

type Stop = Pick<EndedRun, 'phase' | 'reason' | 'message'>

const stopped: Stop = {
  phase: 'Completed',
  reason: 'Stopped',
  message: 'It was stopped, to start anew or to be suspended. What it copied is kept.',
}

const replaced: Stop = {
  phase: 'Failed',
  reason: 'Replaced',
  message: 'It was still at work when the next run was due, which took its place (concurrencyPolicy: Replace).',
}

function stopMain(facts: Facts, runs: Runs, why: Stop): Runs {
  const { progress, nowMs } = facts
  const totals = progress && { records: progress.records, bytes: progress.bytes }
  return stopRuns(runs, mainRuns(runs), run => endRun(run, nowMs, { ...why, totals }))
}

const stopping = pending('Stopping', 'The run before has to stop first.')

const behindVerify = pending('WaitingForVerify', 'The run starts when the backup is verified.')
