import type { EndedRun } from '../crd/status.ts'
import type { JobState } from '../job/job-state.ts'
import type { Decision } from './decision.ts'
import { planEvents } from './events.ts'
import { type Facts, historyOf, readFacts, recheckForLost } from './facts.ts'
import type { Action, Plan, Situation } from './plan.ts'
import { planDeletion } from './plan-deletion.ts'
import { planMain } from './plan-main.ts'
import { planStatus } from './plan-status.ts'
import { planVerify } from './plan-verify.ts'
import { recheckForRounds } from './rounds.ts'
import { type LiveRun, type Runs, settleRuns } from './runs.ts'
import { continueRun } from './start-run.ts'
import { blockerOf } from './wait.ts'

/**
 * What to do about a resource, and what to tell of it. It goes by the situation alone, so that whoever looks at the same
 * one plans the same, and a plan that was carried out in part is made whole by the next one.
 */
export function planResource(situation: Situation): Plan {
  const facts = readFacts(situation)
  const runs = settleRuns(facts)
  const isGoing = facts.resource.metadata.deletionTimestamp !== undefined
  const decision = isGoing ? planDeletion(facts, runs) : planRuns(facts, runs)
  const isLeft = isGoing && decision.deletion === undefined
  if (isLeft) return { actions: decision.before, status: facts.before, after: [], events: [], ended: [] }
  return planFrom(facts, decision)
}

function planFrom(facts: Facts, decision: Decision): Plan {
  const status = planStatus(facts, decision)
  const told = new Set(historyOf(facts.before).map(({ run }) => run))
  const recheckAtMs = againAt(facts, decision)
  return {
    actions: [...decision.before, ...decision.starts.map(({ action }) => action)],
    status,
    after: [...planRemovals(facts, decision.runs, status.history ?? []), ...decision.after],
    events: planEvents(facts, decision, status),
    ended: (status.history ?? []).filter(({ run }) => !told.has(run)).toReversed(),
    ...(recheckAtMs !== undefined && { recheckAtMs }),
  }
}

const POLL_MS = 15_000
const NAMESPACE_POLL_MS = 60_000
/** Nothing waits for a license. */
const LICENSE_POLL_MS = 5 * 60_000

/** When to look again though nothing changed. Everything else is told by a Job, a pod or the resource itself. */
function againAt(facts: Facts, decision: Decision): number | undefined {
  const { nowMs, resource, isLicenseMissing, licenseTrouble } = facts
  const { runs, starts, main, verify, wait, deletion } = decision
  const isPolled = wait?.isPolled || deletion?.isPolled || verify?.isBlocked
  const { startingDeadlineSeconds } = resource.spec ?? {}
  const dueMs = main?.nextScheduleMs
  const times = [
    isPolled ? nowMs + POLL_MS : undefined,
    starts.length > 0 ? nowMs + POLL_MS : undefined,
    // The namespace may be deleted after the resource, which nothing tells.
    deletion === undefined ? undefined : nowMs + NAMESPACE_POLL_MS,
    main?.times?.nextMs,
    dueMs !== undefined && startingDeadlineSeconds !== undefined
      ? dueMs + startingDeadlineSeconds * 1000 + 1
      : undefined,
    verify?.recheckAtMs,
    ...runs.live.map(({ unseenUntilMs }) => unseenUntilMs),
    runs.live.some(isQuiet) ? nowMs + POLL_MS : undefined,
    ...recheckForLost(facts.jobs),
    ...recheckForRounds(facts, runs.ended),
    isLicenseMissing || licenseTrouble !== undefined ? nowMs + LICENSE_POLL_MS : undefined,
  ].filter(ms => ms !== undefined && ms > nowMs)
  return times.length > 0 ? Math.min(...times.map(Number)) : undefined
}

/** No pod of it works, and why is not known yet: that is told by the time that passes, or by what is on its way. */
function isQuiet({ jobs }: LiveRun): boolean {
  return jobs.some(({ end, running, waiting }) => !end && !waiting && running.length === 0)
}

const DEFAULT_LIMIT = 3

/**
 * What becomes of Jobs once the status has the end of their runs. One that failed but would try again is stopped, and
 * stays for its log; one that is still at work is removed, unless it is ending; of the others the oldest go.
 */
function planRemovals({ jobs, resource }: Facts, { lingering }: Runs, history: readonly EndedRun[]): Action[] {
  const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = resource.spec?.job ?? {}
  const isOver = (job: JobState) => job.end !== undefined && !job.end.isStillTrying
  const finished = jobs.filter(isOver)
  const withJobs = history.filter(({ run }) => finished.some(job => job.run === run))
  const old = [
    ...withJobs.filter(({ phase }) => phase === 'Completed').slice(limitOf(successfulJobsHistoryLimit)),
    ...withJobs.filter(({ phase }) => phase === 'Failed').slice(limitOf(failedJobsHistoryLimit)),
  ]
  const oldRuns = new Set(old.map(({ run }) => run))
  const isStopped = (job: JobState) => job.end?.isStillTrying === true
  const present = ({ isBeingDeleted }: JobState) => !isBeingDeleted
  const stopped = lingering.filter(job => isStopped(job) && job.isWithoutRetries !== true)
  const removed = [
    ...lingering.filter(job => !isStopped(job) && job.isEnding !== true),
    ...finished.filter(({ run }) => oldRuns.has(run)),
  ]
  return [
    ...stopped.filter(present).map(({ name, uid }): Action => ({ type: 'stop-job', name, uid })),
    ...removed.filter(present).map(({ name, uid }): Action => ({ type: 'remove-job', name, uid })),
  ]
}

function limitOf(limit: number | undefined): number {
  return limit !== undefined && Number.isInteger(limit) && limit >= 0 ? limit : DEFAULT_LIMIT
}

/** Of a resource that is not being deleted: which runs start, continue or wait. */
function planRuns(facts: Facts, settled: Runs): Decision {
  const main = planMain(facts, settled)
  const verify = planVerify(facts, main)
  const lack = blockerOf(facts)
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
