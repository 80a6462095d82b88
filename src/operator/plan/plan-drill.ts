import { planTimes } from './due-times.ts'
import type { Facts } from './facts.ts'
import { handledMs, type MainPlan, sinceMs } from './plan-main.ts'
import type { VerifyPlan } from './plan-verify.ts'
import { drillKey, scheduledKey } from './run-key.ts'
import { isKnown, lastGood, type Runs } from './runs.ts'
import { type DueRun, type Start, startRun } from './start-run.ts'
import { findStuck } from './stuck-runs.ts'
import { parseTime } from './times.ts'
import { blockerOf } from './wait.ts'

export interface DrillPlan {
  start?: Start
  /** Why a drill cannot start, whether it is due or not. */
  lack?: { reason: string; message: string } | undefined
  nextDrillMs?: number | undefined
  /** What is due may start later than the next time. */
  recheckAtMs?: number | undefined
}

/** The secrets of a drill are not watched. */
const POLL_MS = 60_000

/**
 * Whether the newest backup is to be drilled. A drill waits while another run of the resource is active, except the run of a continuous
 * backup, which does not end.
 */
export function planDrill(facts: Facts, main: MainPlan, verify: VerifyPlan): DrillPlan {
  const plan = planNext(facts, main, verify)
  const stuck = findStuck(main.runs, 'drill')
  if (!stuck) return plan
  if (facts.nowMs >= stuck.atMs) return { ...plan, lack: { reason: stuck.reason, message: stuck.message } }
  return { ...plan, recheckAtMs: Math.min(stuck.atMs, plan.recheckAtMs ?? Number.POSITIVE_INFINITY) }
}

function planNext(facts: Facts, main: MainPlan, verify: VerifyPlan): DrillPlan {
  const { drillProblem, isSuspended, nowMs } = facts
  if (facts.drill === undefined) return { lack: drillProblem }
  if (isSuspended) return {}
  const { due, nextMs } = dueDrill(facts, facts.drill, main.runs)
  if (!due) return { lack: drillProblem, nextDrillMs: nextMs, recheckAtMs: nextMs }
  const waiting = { nextDrillMs: due.dueMs, recheckAtMs: nextMs }
  if (isBusy(facts, main, verify)) return { ...waiting, lack: drillProblem ?? knownLack(facts) }
  // A drill has its own cluster.
  const lack = drillProblem ?? blockerOf({ ...facts, cluster: undefined })
  if (lack) {
    const { reason, message } = lack
    return { ...waiting, lack: { reason, message }, recheckAtMs: Math.min(nowMs + POLL_MS, nextMs ?? Infinity) }
  }
  return { start: startRun(facts, due), nextDrillMs: nextMs, recheckAtMs: nextMs }
}

/** What blocked the drill before another run began: it is checked again after that. */
function knownLack({ before }: Facts): DrillPlan['lack'] {
  const { reason = '', message = '' } = before.drill ?? {}
  return reason === 'SecretMissing' || reason === 'JobRefused' ? { reason, message } : undefined
}

/** A run that needs another Job counts: a drill starts alone, so what it lacks blocks no backup. */
function isBusy({ isContinuous }: Facts, { runs, start }: MainPlan, verify: VerifyPlan): boolean {
  const others = runs.live.filter(({ purpose, todo }) => !(isContinuous && purpose === 'main' && todo === undefined))
  return start !== undefined || verify.start !== undefined || others.length > 0 || runs.lingering.length > 0
}

interface DueDrill {
  due?: DueRun
  nextMs?: number | undefined
}

function dueDrill(facts: Facts, schedule: NonNullable<Facts['drill']>, runs: Runs): DueDrill {
  const { before, nowMs } = facts
  const { dueMs, nextMs } = planTimes(schedule, {
    recordedMs: parseTime(before.drill?.nextTime),
    handledMs: handledMs(runs, 'drill-'),
    sinceMs: sinceMs(facts),
    nowMs,
    deadlineMs: undefined,
  })
  if (dueMs === undefined) return { nextMs }
  const run = drillKey(scheduledKey(dueMs))
  const about = drilledBackup(facts, runs)
  return !about || isKnown(runs, run) ? { nextMs } : { due: { run, purpose: 'drill', dueMs, ...about }, nextMs }
}

/** The newest backup; undefined before the first. */
function drilledBackup({ isContinuous, before }: Facts, { ended }: Runs): { backupId?: string } | undefined {
  if (isContinuous) return before.lastSuccessfulTime === undefined ? undefined : {}
  const backup = lastGood(ended)
  return backup && (backup.backupId === undefined ? {} : { backupId: backup.backupId })
}
