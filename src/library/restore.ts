import type { OffsetAt } from '../jobs/compare.ts'
import type { CompareReport } from '../restore/compare.ts'
import type { BackupRestoreDryRun } from '../restore/dry-run.ts'
import type { OffsetMapFilter, OffsetMapRun, OffsetPlace } from '../restore/offset-map.ts'
import type { BackupRestoreReport } from '../restore/restore-backup.ts'
import { type JobInput, jobOf } from './job.ts'
import { type RunOptions, runWatched } from './run.ts'

const leavesNotes = 'What was written is recorded on the target; restore with the same job to continue.'
const leavesNothing = 'Nothing was changed.'

/**
 * Puts a backup back, each record exactly once. What is done is noted on the target: after an interruption or a crash the
 * same call continues from there. All blockers are one RESTORE_REFUSED error, before the first write; a dry run
 * has it as its result.
 */
export async function restore(
  job: JobInput<'restore'>,
  options: RunOptions & { dryRun: true },
): Promise<BackupRestoreDryRun>
export async function restore(
  job: JobInput<'restore'>,
  options?: RunOptions & { dryRun?: false },
): Promise<BackupRestoreReport>
export async function restore(
  job: JobInput<'restore'>,
  { dryRun, ...options }: RunOptions & { dryRun?: boolean } = {},
): Promise<BackupRestoreReport | BackupRestoreDryRun> {
  return runWatched(options, dryRun ? leavesNothing : leavesNotes, async (onProgress, signal) => {
    const [jobs, loaded] = await Promise.all([import('../jobs/restore.ts'), jobOf(job, 'restore')])
    return dryRun ? jobs.dryRunRestoreJob(loaded, signal) : jobs.runRestoreJob(loaded, { onProgress }, signal)
  })
}

/** Reads the target back and compares every record with the backup. A difference is a result, not an error. */
export async function compare(job: JobInput<'restore'>, options: RunOptions = {}): Promise<CompareReport> {
  return runWatched(options, leavesNothing, async (onProgress, signal) => {
    const [{ compareJob }, loaded] = await Promise.all([import('../jobs/compare.ts'), jobOf(job, 'restore')])
    return compareJob(loaded, { onProgress }, signal)
  })
}

/** Where the records of the source are on the target, as stretches without holes. */
export async function offsetMap(
  job: JobInput<'restore'>,
  { signal, ...filter }: OffsetMapFilter & Pick<RunOptions, 'signal'> = {},
): Promise<OffsetMapRun[]> {
  return runWatched({ signal }, leavesNothing, async (_, scoped) => {
    const [{ offsetMapJob }, loaded] = await Promise.all([import('../jobs/compare.ts'), jobOf(job, 'restore')])
    return offsetMapJob(loaded, filter, scoped)
  })
}

/** Where one record is, or the next one that was restored; undefined behind the last. */
export async function findOffset(
  job: JobInput<'restore'>,
  { topic, partition, offset }: OffsetAt,
  options: Pick<RunOptions, 'signal'> = {},
): Promise<OffsetPlace | undefined> {
  return runWatched(options, leavesNothing, async (_, signal) => {
    const [{ findOffsetJob }, loaded] = await Promise.all([import('../jobs/compare.ts'), jobOf(job, 'restore')])
    return findOffsetJob(loaded, { topic, partition, offset }, signal)
  })
}
