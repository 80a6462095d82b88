import { KafkaBackupError } from '../errors.ts'
import type { OffsetAt } from '../jobs/compare.ts'
import type { CompareReport } from '../restore/compare.ts'
import type { BackupRestoreDryRun } from '../restore/dry-run.ts'
import type { OffsetMapFilter, OffsetMapRun, OffsetPlace } from '../restore/offset-map.ts'
import type { PreparedRestore } from '../restore/prepare-restore.ts'
import type { BackupRestoreReport } from '../restore/restore-backup.ts'
import type { RestoreShardReport } from '../restore/restore-shard.ts'
import type { RestoreShard } from '../restore/shard-plan.ts'
import { type JobInput, jobOf } from './job.ts'
import { type RunOptions, runWatched } from './run.ts'

const leavesNotes = 'What was written is recorded on the target; restore with the same job to continue.'
const leavesNothing = 'Nothing was changed.'

interface RestoreRunOptions extends RunOptions {
  /**
   * Measures for the estimate of the time: `store` only reads, `target` also creates a topic on the target, writes to it for a few
   * seconds and deletes it.
   */
  probe?: 'store' | 'target'
}

/**
 * Puts a backup back, each record exactly once. What is done is noted on the target: after an interruption or a crash the
 * same call continues from there. All blockers are one RESTORE_REFUSED error, before the first write; a dry run
 * has it as its result.
 */
export async function restore(
  job: JobInput<'restore'>,
  options: RestoreRunOptions & { dryRun: true },
): Promise<BackupRestoreDryRun>
export async function restore(
  job: JobInput<'restore'>,
  options?: RestoreRunOptions & { dryRun?: false },
): Promise<BackupRestoreReport>
export async function restore(
  job: JobInput<'restore'>,
  { dryRun, probe: scope, ...options }: RestoreRunOptions & { dryRun?: boolean } = {},
): Promise<BackupRestoreReport | BackupRestoreDryRun> {
  return runWatched(options, dryRun ? leavesNothing : leavesNotes, async (onProgress, signal) => {
    const [jobs, loaded] = await Promise.all([import('../jobs/restore.ts'), jobOf(job, 'restore')])
    const probe = scope && { scope, onStep: (message: string) => onProgress({ type: 'note', message }) }
    return dryRun
      ? jobs.dryRunRestoreJob(loaded, signal, probe)
      : jobs.runRestoreJob(loaded, { onProgress }, signal, probe)
  })
}

/** Does once what the shards of a restore need: schemas and topics, and which of `count` shards fills which partition. */
export async function prepareRestore(
  job: JobInput<'restore'>,
  count: number,
  options: RunOptions = {},
): Promise<PreparedRestore> {
  return runWatched(options, leavesNotes, async (onProgress, signal) => {
    refuseShard({ index: 0, count })
    const [jobs, loaded] = await Promise.all([import('../jobs/restore.ts'), jobOf(job, 'restore')])
    return jobs.prepareRestoreJob(loaded, count, { onProgress }, signal)
  })
}

/** Writes the records of one of several processes that share a prepared restore. `finishRestore` completes it. */
export async function restoreShard(
  job: JobInput<'restore'>,
  shard: RestoreShard,
  options: RunOptions = {},
): Promise<RestoreShardReport> {
  return runWatched(options, leavesNotes, async (onProgress, signal) => {
    refuseShard(shard)
    const [jobs, loaded] = await Promise.all([import('../jobs/restore.ts'), jobOf(job, 'restore')])
    return jobs.restoreShardJob(loaded, { shard }, { onProgress }, signal)
  })
}

/** Completes a restore whose shards are done. A missing one is a SHARDS_INCOMPLETE error, and nothing is changed then. */
export async function finishRestore(job: JobInput<'restore'>, options: RunOptions = {}): Promise<BackupRestoreReport> {
  return runWatched(options, leavesNotes, async (onProgress, signal) => {
    const [jobs, loaded] = await Promise.all([import('../jobs/restore.ts'), jobOf(job, 'restore')])
    return jobs.finishRestoreJob(loaded, { onProgress }, signal)
  })
}

function refuseShard({ index, count }: RestoreShard): void {
  if (Number.isSafeInteger(index) && Number.isSafeInteger(count) && index >= 0 && index < count) return
  throw new KafkaBackupError('USAGE', `there is no shard ${index} of ${count}`, {
    help: 'The shards of four processes are { index: 0, count: 4 } to { index: 3, count: 4 }.',
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
  { signal, onProgress, ...filter }: OffsetMapFilter & RunOptions = {},
): Promise<OffsetMapRun[]> {
  return runWatched({ signal, onProgress }, leavesNothing, async (onProgress, scoped) => {
    const [{ offsetMapJob }, loaded] = await Promise.all([import('../jobs/compare.ts'), jobOf(job, 'restore')])
    return offsetMapJob(loaded, filter, { onProgress }, scoped)
  })
}

/** Where one record is, or the next one that was restored; undefined behind the last. */
export async function findOffset(
  job: JobInput<'restore'>,
  { topic, partition, offset }: OffsetAt,
  options: RunOptions = {},
): Promise<OffsetPlace | undefined> {
  return runWatched(options, leavesNothing, async (onProgress, signal) => {
    const [{ findOffsetJob }, loaded] = await Promise.all([import('../jobs/compare.ts'), jobOf(job, 'restore')])
    return findOffsetJob(loaded, { topic, partition, offset }, { onProgress }, signal)
  })
}
