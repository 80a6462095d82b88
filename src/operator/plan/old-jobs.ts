import type { JobState } from '../job/job-state.ts'
import type { EndedRun } from '../resource/status.ts'
import type { Facts } from './facts.ts'
import type { Action } from './plan.ts'
import type { Runs } from './runs.ts'

const DEFAULT_LIMIT = 3

/**
 * What becomes of Jobs once the status has the end of their runs. One that failed but would try again is stopped, and
 * stays for its log; one that is still at work is removed, unless it is ending; of the others the oldest go.
 */
export function planRemovals({ jobs, resource }: Facts, { lingering }: Runs, history: readonly EndedRun[]): Action[] {
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
