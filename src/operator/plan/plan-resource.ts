import type { EndedRun } from '../crd/status.ts'
import type { JobState } from '../job/job-state.ts'
import type { Decision } from './decision.ts'
import { planEvents } from './events.ts'
import { type Facts, historyOf, readFacts, recheckForLost } from './facts.ts'
import type { Action, Plan, Situation } from './plan.ts'
import { planDeletion } from './plan-deletion.ts'
import { planRuns } from './plan-runs.ts'
import { planStatus } from './plan-status.ts'
import { recheckForRounds } from './rounds.ts'
import { type LiveRun, type Runs, settleRuns } from './runs.ts'

/**
 * What to do about a resource, and what to report. The plan depends on the situation alone: every leader makes the same plan,
 * and the next plan completes one that was executed in part.
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
  const known = new Set(historyOf(facts.before).map(({ run }) => run))
  const recheckAtMs = recheckAt(facts, decision)
  return {
    actions: [...decision.before, ...decision.starts.map(({ action }) => action)],
    status,
    after: [...planRemovals(facts, decision.runs, status.history ?? []), ...decision.after],
    events: planEvents(facts, decision, status),
    ended: (status.history ?? []).filter(({ run }) => !known.has(run)).toReversed(),
    ...(recheckAtMs !== undefined && { recheckAtMs }),
  }
}

const POLL_MS = 15_000
const NAMESPACE_POLL_MS = 60_000
/** No run waits for it. */
const UNCERTAIN_POLL_MS = 5 * 60_000

/** When to reconcile again without a change. Changes of the resource, Jobs and pods are watched. */
function recheckAt(facts: Facts, decision: Decision): number | undefined {
  const { nowMs, resource } = facts
  const { runs, starts, main, verify, drill, wait, deletion } = decision
  const isPolled = wait?.isPolled || deletion?.isPolled || verify?.isBlocked
  const { startingDeadlineSeconds } = resource.spec ?? {}
  const dueMs = main?.nextScheduleMs
  const times = [
    isPolled ? nowMs + POLL_MS : undefined,
    starts.length > 0 ? nowMs + POLL_MS : undefined,
    // The namespace may be deleted after the resource, and it is not watched.
    deletion === undefined ? undefined : nowMs + NAMESPACE_POLL_MS,
    main?.times?.nextMs,
    dueMs !== undefined && startingDeadlineSeconds !== undefined
      ? dueMs + startingDeadlineSeconds * 1000 + 1
      : undefined,
    verify?.recheckAtMs,
    drill?.recheckAtMs,
    ...runs.live.map(({ unseenUntilMs }) => unseenUntilMs),
    runs.live.some(isQuiet) || hasDeleted(runs) || runs.lingering.some(isUnknown) ? nowMs + POLL_MS : undefined,
    ...recheckForLost(facts.jobs),
    ...recheckForRounds(facts, runs),
    isUncertain(facts) ? nowMs + UNCERTAIN_POLL_MS : undefined,
  ].filter(ms => ms !== undefined && ms > nowMs)
  return times.length > 0 ? Math.min(...times.map(Number)) : undefined
}

/** A condition reports a secret as missing or unknown, and secrets are not watched. */
function isUncertain({ isLicenseMissing, licenseTrouble, missingSecrets, secretsTrouble }: Facts): boolean {
  const isTrouble = licenseTrouble !== undefined || secretsTrouble !== undefined
  return isLicenseMissing || isTrouble || missingSecrets.length > 0
}

/** A pod that is needed does not run, and the cause is not known yet. Shards that are done need none, but they look the same here. */
function isQuiet({ jobs }: LiveRun): boolean {
  const neededOf = ({ stage, shards }: JobState) => (stage === 'shards' ? shards : 1)
  return jobs.some(job => !job.end && !job.waiting && job.running.length < neededOf(job))
}

/** Its end becomes known after a while without a change: a pod that has its result may be gone. */
function isUnknown({ end, isEnding }: JobState): boolean {
  return end === undefined && isEnding === true
}

/** Pods whose Job is gone belong to no resource that their end could be a change of. */
function hasDeleted({ live, lingering }: Runs): boolean {
  return [...live.flatMap(({ jobs }) => jobs), ...lingering].some(({ isBeingDeleted }) => isBeingDeleted)
}

const DEFAULT_LIMIT = 3

/**
 * What happens to Jobs once the status shows the end of their runs. A failed Job that would retry is stopped and kept for its
 * log; an active one is removed unless it is ending; of the others the oldest are removed.
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
    ...lingering.filter(job => job.end === undefined && job.isEnding !== true),
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
