import { planTimes } from './due-times.ts'
import type { Facts } from './facts.ts'
import { handledMs, type MainPlan, sinceMs } from './plan-main.ts'
import { scheduledKey, verifyKey } from './run-key.ts'
import { isKnown, lastGood, type Runs } from './runs.ts'
import { type DueRun, type Start, startRun } from './start-run.ts'
import { parseTime } from './times.ts'
import { blockerOf } from './wait.ts'

export interface VerifyPlan {
  start?: Start
  /** It would start, were it not for a secret. */
  isBlocked?: boolean
  nextVerifyMs?: number | undefined
  /** What is due may start later than the next time. */
  recheckAtMs?: number | undefined
}

/** Whether the newest backup is to be verified. It waits while another run of the resource is active. */
export function planVerify(facts: Facts, { runs, start }: MainPlan): VerifyPlan {
  if (facts.verify === 'never' || facts.isSuspended) return {}
  const { due, nextMs, consumedMs } = dueVerify(facts, runs)
  if (!due) return { nextVerifyMs: nextMs, recheckAtMs: nextMs }
  const waiting = { nextVerifyMs: consumedMs, recheckAtMs: nextMs }
  if (start || runs.live.length > 0 || runs.lingering.length > 0) return waiting
  const lack = blockerOf(facts)
  if (lack) return { ...waiting, isBlocked: lack.isPolled }
  return { start: startRun(facts, due), nextVerifyMs: nextMs, recheckAtMs: nextMs }
}

interface DueVerify {
  due?: DueRun
  nextMs?: number | undefined
  /** The time that is recorded as next while the run waits. */
  consumedMs?: number | undefined
}

function dueVerify(facts: Facts, runs: Runs): DueVerify {
  const { verify, before, nowMs } = facts
  const backup = lastGood(runs.ended)
  const about = backup?.backupId === undefined ? {} : { backupId: backup.backupId }
  if (typeof verify === 'string') {
    const run = verifyKey(backup?.run ?? '')
    return backup && !isKnown(runs, run) ? { due: { run, purpose: 'verify', dueMs: nowMs, ...about } } : {}
  }
  const { dueMs, nextMs } = planTimes(verify, {
    recordedMs: parseTime(before.nextVerifyTime),
    handledMs: handledMs(runs, 'verify-'),
    sinceMs: sinceMs(facts),
    nowMs,
    deadlineMs: undefined,
  })
  const run = verifyKey(scheduledKey(dueMs ?? 0))
  if (dueMs === undefined || !backup || isKnown(runs, run)) return { nextMs }
  return { due: { run, purpose: 'verify', dueMs, ...about }, nextMs, consumedMs: dueMs }
}
