import type { Totals } from '../archive/summary.ts'
import type { DryRun } from '../backup/dry-run.ts'
import type { BackupReport as EngineReport } from '../backup/run-backup.ts'
import type { ShardReport } from '../backup/run-shard.ts'
import type { ShardNumber } from '../backup/shards.ts'
import { type CamelKeys, camelKeys } from '../config/camel-keys.ts'
import { KafkaBackupError } from '../errors.ts'
import type { CheckReport } from '../observe/finding.ts'
import { type JobInput, jobOf } from './job.ts'
import { type RunOptions, runWatched } from './run.ts'

export interface BackupReport {
  backupId: string
  /** The number of the state that was committed. */
  generation: number
  durationMs: number
  /** What this run added. */
  copied: { records: number; bytes: number; partitions: number }
  /** Whether this run changed something besides records. */
  changes: EngineReport['changes']
  /** What the backup holds now. */
  totals: CamelKeys<Totals>
  /** What the whole backup occupies in the store; absent where the store cannot be listed. */
  occupiedBytes?: number
  /** What it holds of a schema registry, where one belongs to it. */
  schemas?: { subjects: number; versions: number }
  /** Records that the source lost before they could be copied, found by this run. */
  newGaps: EngineReport['newGaps']
  warnings: string[]
}

const leavesCommit = 'What was durable is committed; back up with the same job to continue.'
const leavesNothing = 'Nothing was changed.'

/**
 * Copies what is new and commits it. A job with `backup.continuous` runs until its signal is aborted. When it is
 * interrupted or fails, what is durable is committed first; the next call continues from there.
 */
export async function backup(job: JobInput<'backup'>, options: RunOptions & { dryRun: true }): Promise<DryRun>
export async function backup(job: JobInput<'backup'>, options?: RunOptions & { dryRun?: false }): Promise<BackupReport>
export async function backup(
  job: JobInput<'backup'>,
  { dryRun, ...options }: RunOptions & { dryRun?: boolean } = {},
): Promise<BackupReport | DryRun> {
  return runWatched(options, dryRun ? leavesNothing : leavesCommit, async (onProgress, signal) => {
    const [{ dryRunJob, runBackupJob }, loaded] = await Promise.all([import('../jobs/backup.ts'), jobOf(job, 'backup')])
    return dryRun ? dryRunJob(loaded, signal) : reportOf(await runBackupJob(loaded, { onProgress }, signal))
  })
}

/** Copies the partitions of one of several processes that share a backup. `commitShards` makes it count. */
export async function backupShard(
  job: JobInput<'backup'>,
  shard: ShardNumber,
  options: RunOptions = {},
): Promise<ShardReport> {
  return runWatched(options, leavesCommit, async (onProgress, signal) => {
    refuseShard(shard)
    const [{ runShardJob }, loaded] = await Promise.all([import('../jobs/backup.ts'), jobOf(job, 'backup')])
    refuseContinuous(loaded.backup)
    return runShardJob(loaded, shard, { onProgress }, signal)
  })
}

/** Commits what all shards have copied. */
export async function commitShards(job: JobInput<'backup'>, options: RunOptions = {}): Promise<BackupReport> {
  return runWatched(options, leavesCommit, async (onProgress, signal) => {
    const [{ commitShardsJob }, loaded] = await Promise.all([import('../jobs/backup.ts'), jobOf(job, 'backup')])
    refuseContinuous(loaded.backup)
    return reportOf(await commitShardsJob(loaded, { onProgress }, signal))
  })
}

/** Tries out the cluster, the permissions and the storage of a job. What is missing is a result, not an error. */
export async function check(job: JobInput, options: Pick<RunOptions, 'signal'> = {}): Promise<CheckReport> {
  return runWatched(options, leavesNothing, async (_, signal) => {
    const [{ checkJob }, loaded] = await Promise.all([import('../jobs/check.ts'), jobOf(job, undefined)])
    return checkJob(loaded, signal)
  })
}

async function reportOf({ manifest, ...report }: EngineReport): Promise<BackupReport> {
  const { schemaTotalsOf, totalsOf } = await import('../archive/summary.ts')
  const { backup_id: backupId, generation, topics } = manifest
  const schemas = schemaTotalsOf(manifest)
  const totals = camelKeys(totalsOf(topics))
  return { backupId, generation, ...report, totals, ...(schemas && { schemas }) }
}

function refuseShard({ index, count }: ShardNumber): void {
  if (Number.isSafeInteger(index) && Number.isSafeInteger(count) && index >= 0 && index < count) return
  throw new KafkaBackupError('USAGE', `there is no shard ${index} of ${count}`, {
    help: 'The shards of four processes are { index: 0, count: 4 } to { index: 3, count: 4 }.',
  })
}

function refuseContinuous({ continuous }: { continuous: boolean }): void {
  if (continuous) throw new KafkaBackupError('USAGE', 'shards and `backup.continuous` do not go together')
}
