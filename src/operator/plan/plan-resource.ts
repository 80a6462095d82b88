import { planEvents } from './events.ts'
import { type Facts, historyOf, readFacts } from './facts.ts'
import { planRemovals } from './old-jobs.ts'
import type { Outcome } from './outcome.ts'
import type { Action, Plan, Situation } from './plan.ts'
import { planDeletion } from './plan-deletion.ts'
import { planMain } from './plan-main.ts'
import { planStatus } from './plan-status.ts'
import { planVerify } from './plan-verify.ts'
import { type LiveRun, type Runs, settleRuns } from './runs.ts'
import { continueRun } from './start-run.ts'
import { lackOf } from './wait.ts'

const POLL_MS = 15_000
/** Nothing waits for a license. */
const LICENSE_POLL_MS = 5 * 60_000

/**
 * What to do about a resource, and what to tell of it. It goes by the situation alone, so that whoever looks at the same
 * one plans the same, and a plan that was carried out in part is made whole by the next one.
 */
export function planResource(situation: Situation): Plan {
  const facts = readFacts(situation)
  const runs = settleRuns(facts)
  const isGoing = facts.resource.metadata.deletionTimestamp !== undefined
  const outcome = isGoing ? planDeletion(facts, runs) : planLife(facts, runs)
  const isLeft = isGoing && outcome.deletion === undefined
  if (isLeft) return { actions: outcome.before, status: facts.before, after: [], events: [], ended: [] }
  return planFrom(facts, outcome)
}

function planLife(facts: Facts, settled: Runs): Outcome {
  const main = planMain(facts, settled)
  const verify = planVerify(facts, main)
  const lack = lackOf(facts)
  const unfinished = main.runs.live.filter(({ todo }) => todo !== undefined)
  const continued = lack ? [] : unfinished.map(live => continueRun(facts, live))
  const begun = [main.start, verify.start].filter(start => start !== undefined)
  return {
    runs: main.runs,
    starts: [...continued, ...begun],
    before: finalizerActions(facts),
    after: [],
    main,
    verify,
    wait: main.wait ?? (unfinished.length > 0 ? lack : undefined),
    trigger: main.trigger,
  }
}

/** It is there before the first byte of a backup that it has to remove. */
function finalizerActions({ hasFinalizer, wantsFinalizer }: Facts): Action[] {
  if (hasFinalizer === wantsFinalizer) return []
  return [{ type: wantsFinalizer ? 'add-finalizer' : 'remove-finalizer' }]
}

function planFrom(facts: Facts, outcome: Outcome): Plan {
  const status = planStatus(facts, outcome)
  const told = new Set(historyOf(facts.before).map(({ run }) => run))
  const againAtMs = againAt(facts, outcome)
  return {
    actions: [...outcome.before, ...outcome.starts.map(({ action }) => action)],
    status,
    after: [...planRemovals(facts, outcome.runs, status.history ?? []), ...outcome.after],
    events: planEvents(facts, outcome, status),
    ended: (status.history ?? []).filter(({ run }) => !told.has(run)).toReversed(),
    ...(againAtMs !== undefined && { againAtMs }),
  }
}

/** Everything else is told by a Job, a pod or the resource itself. */
function againAt(
  { nowMs, resource, isLicenseMissing, licenseTrouble }: Facts,
  { runs, starts, main, verify, wait, deletion }: Outcome,
): number | undefined {
  const isPolled = wait?.isPolled || deletion?.isPolled || verify?.isLacking
  const { startingDeadlineSeconds } = resource.spec ?? {}
  const dueMs = main?.nextScheduleMs
  const times = [
    isPolled ? nowMs + POLL_MS : undefined,
    starts.length > 0 ? nowMs + POLL_MS : undefined,
    main?.times?.nextMs,
    dueMs !== undefined && startingDeadlineSeconds !== undefined
      ? dueMs + startingDeadlineSeconds * 1000 + 1
      : undefined,
    verify?.againAtMs,
    ...runs.live.map(({ unseenUntilMs }) => unseenUntilMs),
    runs.live.some(isQuiet) ? nowMs + POLL_MS : undefined,
    isLicenseMissing || licenseTrouble !== undefined ? nowMs + LICENSE_POLL_MS : undefined,
  ].filter(ms => ms !== undefined && ms > nowMs)
  return times.length > 0 ? Math.min(...times.map(Number)) : undefined
}

/** No pod of it works, and why is not known yet: that is told by the time that passes, or by what is on its way. */
function isQuiet({ jobs }: LiveRun): boolean {
  return jobs.some(({ end, running, waiting }) => !end && !waiting && running.length === 0)
}
