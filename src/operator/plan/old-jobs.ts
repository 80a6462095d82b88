import type { JobState } from '../job/job-state.ts'
import type { EndedRun } from '../resource/status.ts'
import type { Facts } from './facts.ts'
import type { Action } from './plan.ts'
import type { Runs } from './runs.ts'

const DEFAULT_LIMIT = 3

/** Jobs that may go once the status has the end of their runs: those that still try, and the oldest of the others. */
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
  return [...lingering, ...finished.filter(({ run }) => oldRuns.has(run))]
    .filter(({ isBeingDeleted }) => !isBeingDeleted)
    .map(({ name, uid }) => ({ type: 'remove-job', name, uid }))
}

function limitOf(limit: number | undefined): number {
  return limit !== undefined && Number.isInteger(limit) && limit >= 0 ? limit : DEFAULT_LIMIT
}
