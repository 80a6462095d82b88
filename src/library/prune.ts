import type { PruneReport } from '../retention/outcome.ts'
import type { RetentionPolicy } from '../retention/policy.ts'
import { findPlace, type Place } from './place.ts'
import { type RunOptions, runWatched } from './run.ts'

export interface PruneOptions extends RunOptions {
  /** Rules that replace or extend those of the job. Durations are milliseconds. */
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
  const leaves = 'No manifest names what is gone; prune again to continue.'
  return runWatched({ signal, onProgress }, leaves, async (tell, scoped) => {
    const [{ policyOf, pruneAt, writerTermOf }, { openExistingStorage }] = await Promise.all([
      import('../jobs/prune.ts'),
      import('../jobs/parts.ts'),
    ])
    const { at, job } = await findPlace(place)
    const storage = await openExistingStorage(at, scoped)
    try {
      const act = { isDryRun: dryRun, ...writerTermOf(job, rules) }
      return await pruneAt(storage, policyOf(job, rules), { onProgress: tell }, act, scoped)
    } finally {
      await storage.close()
    }
  })
}
