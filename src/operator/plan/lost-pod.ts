import type { JobState } from '../job/job-state.ts'

/** A pod that has not been heard of for too long. */
export function lostPodOf(jobs: readonly JobState[], nowMs: number): { reason: string; message: string } | undefined {
  const lost = jobs.find(job => job.lost !== undefined && job.lost.atMs <= nowMs)?.lost
  return lost && { reason: 'NodeLost', message: lost.message }
}

/** When a pod that is silent now counts as lost. */
export function againForLost(jobs: readonly JobState[]): number[] {
  return jobs.flatMap(({ lost }) => (lost ? [lost.atMs] : []))
}
