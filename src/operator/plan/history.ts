import type { EndedRun, RunPurpose } from '../resource/status.ts'
import type { Facts } from './facts.ts'
import { generationKey } from './run-key.ts'
import type { Runs } from './runs.ts'

const MAX_RUNS = 10

/**
 * What is kept of the runs that ended: the newest, and those that the plan goes by. A run whose Job is still there would
 * be taken for one that nobody knows.
 */
export function planHistory({ jobs, generation }: Facts, { ended }: Runs): EndedRun[] {
  const ofGeneration = generationKey(generation)
  const withJobs = new Set(jobs.map(({ run }) => run))
  const marks = [...(['main', 'verify', 'delete'] as const).map(purpose => lastOf(ended, purpose)), lastGood(ended)]
  return ended.filter(
    (run, index) => index < MAX_RUNS || withJobs.has(run.run) || run.run === ofGeneration || marks.includes(run),
  )
}

/** Of runs of this purpose, the newest that ended. */
export function lastOf(sorted: readonly EndedRun[], purpose: RunPurpose): EndedRun | undefined {
  return sorted.find(run => run.purpose === purpose)
}

/** A dry run has done nothing that could have succeeded. */
export function lastGood(sorted: readonly EndedRun[]): EndedRun | undefined {
  return sorted.find(({ purpose, phase, reason, dryRun }) => {
    return purpose === 'main' && phase === 'Completed' && reason !== 'Stopped' && !dryRun
  })
}
