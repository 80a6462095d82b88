import { KafkaBackupError } from '../errors.ts'
import type { PruneReport } from '../retention/outcome.ts'
import type { RetentionPolicy } from '../retention/policy.ts'
import type { Place } from './archive.ts'
import { jobOf } from './job.ts'
import { type RunOptions, runWatched } from './run.ts'

export interface PruneOptions extends RunOptions {
  /** Rules in place of those of the job, or beside them. Durations are milliseconds. */
  rules?: Partial<RetentionPolicy> | undefined
  /** Only says what would be removed. */
  dryRun?: boolean | undefined
}

/**
 * Removes the backups that the rules do not keep, and what nothing needs any more of those that stay. The newest complete
 * backup and what is in use are never removed.
 */
export async function prune({
  rules,
  dryRun = false,
  signal,
  onProgress,
  ...place
}: Place & PruneOptions): Promise<PruneReport> {
  const leaves = 'No manifest names what is gone; prune again to go on.'
  return runWatched({ signal, onProgress }, leaves, async (tell, scoped) => {
    const [{ policyOf, pruneAt }, { openExistingStorage }, { parseLocation }] = await Promise.all([
      import('../wiring/prune-jobs.ts'),
      import('../wiring/parts.ts'),
      import('../storage/location.ts'),
    ])
    const job = place.job === undefined ? undefined : await jobOf(place.job, undefined)
    if (!job && typeof place.location !== 'string') throw new KafkaBackupError('USAGE', 'give a location or a job')
    const storage = await openExistingStorage(job?.storage ?? parseLocation(place.location ?? ''), scoped)
    try {
      return await pruneAt(storage, policyOf(job, rules), { onProgress: tell }, { isDryRun: dryRun }, scoped)
    } finally {
      await storage.close()
    }
  })
}
