import type { Manifest } from '../archive/manifest.ts'
import type { BackupOptions } from '../backup/backup-options.ts'
import type { DryRun } from '../backup/dry-run.ts'
import type { BackupParts } from '../backup/round.ts'
import type { BackupReport } from '../backup/run-backup.ts'
import type { ShardReport } from '../backup/run-shard.ts'
import type { ShardNumber } from '../backup/shards.ts'
import type { BackupJob } from '../config/load-job.ts'
import { assertWriteOnceLocation } from '../storage/check-location.ts'
import type { Storage } from '../storage/storage.ts'
import { version } from '../version.ts'
import { EarlyReadings } from './early-readings.ts'
import { withLeaseAt } from './leases.ts'
import { HourlyMeasure, measureBackup, readTopicWindows } from './measure-backup.ts'
import { withNotifications } from './notify.ts'
import { type Hooks, newRun, type Parts, readOnly, withMetrics, withParts } from './parts.ts'
import { type AfterBackup, pruneAfterBackup, pruneAtEnd } from './prune.ts'
import { withRegistryReader } from './registry.ts'

/** A job, and what is said of one run of it. */
export type BackupRun = BackupJob & Pick<BackupOptions, 'newIncarnations'>

export function runBackupJob(job: BackupRun, hooks: Hooks, signal: AbortSignal): Promise<BackupReport> {
  return withNotifications(job, hooks, signal, observed =>
    job.backup.continuous
      ? withRun(job, 'backup', observed, signal, {
          load: () => import('../backup/run-continuous.ts'),
          run: runMeasured,
        })
      : withRun(job, 'backup', observed, signal, {
          load: () => import('../backup/run-backup.ts'),
          run: runSingle,
          readsNewest: true,
        }),
  )
}

async function runSingle(
  { runBackup }: typeof import('../backup/run-backup.ts'),
  { options, parts, prune, signal }: WriterRun,
): Promise<Finished<BackupReport>> {
  const report = await runBackup(options, parts, signal)
  await pruneAtEnd(prune, report.manifest, signal)
  return { report, more: sizeAfter(parts, options, signal) }
}

/** After a round: prunes where the job does so, and begins to measure the backup once an hour. */
async function runMeasured(
  { runContinuous }: typeof import('../backup/run-continuous.ts'),
  { options, parts, prune, signal }: WriterRun,
): Promise<never> {
  const { storage, clock, onProgress } = parts
  let latest: Pick<Manifest, 'topics'> = { topics: [] }
  const measure = new HourlyMeasure(storage, options.backupId, clock, async (storedBytes, measureSignal) => {
    onProgress({ type: 'measured', storedBytes })
    const topics = await readTopicWindows(storage, options.backupId, latest, measureSignal)
    onProgress({ type: 'recovery_windows', topics })
  })
  const afterRound: AfterBackup = async (newest, roundSignal) => {
    const manifest = (await prune?.(newest, roundSignal)) ?? newest
    latest = manifest
    measure.begin(signal)
    return manifest
  }
  try {
    return await runContinuous(options, { ...parts, afterRound }, signal)
  } finally {
    await measure.end()
  }
}

/** Copies the partitions of one of several processes; `commitShardsJob` makes what they have done count. */
export function runShardJob(
  job: BackupJob,
  shard: ShardNumber,
  hooks: Hooks,
  signal: AbortSignal,
): Promise<ShardReport> {
  return withRun(job, 'shard', hooks, signal, {
    load: () => import('../backup/run-shard.ts'),
    run: async ({ runShard }, { options, parts }) => ({ report: await runShard(options, shard, parts, signal) }),
  })
}

export function commitShardsJob(job: BackupJob, hooks: Hooks, signal: AbortSignal): Promise<BackupReport> {
  return withRun(job, 'commit', hooks, signal, {
    load: () => import('../backup/commit-shards.ts'),
    run: async ({ commitShards }, { options, parts, prune }) => {
      const report = await commitShards(options, parts, signal)
      await pruneAtEnd(prune, report.manifest, signal)
      return { report, more: sizeAfter(parts, options, signal) }
    },
  })
}

/** When nothing more is written or removed but the lease, which is not counted. */
async function sizeAfter(
  { storage }: Pick<Parts, 'storage'>,
  { backupId }: BackupOptions,
  signal: AbortSignal,
): Promise<Pick<BackupReport, 'occupiedBytes'>> {
  const occupiedBytes = await measureBackup(storage, backupId, signal)
  return occupiedBytes === undefined ? {} : { occupiedBytes }
}

export function dryRunJob(job: BackupRun, signal: AbortSignal): Promise<DryRun> {
  return withRegistryReader(job, readRegistry =>
    withParts(job, readOnly, signal, async parts => {
      const { dryRunBackup } = await import('../backup/dry-run.ts')
      return dryRunBackup(backupOptions(job), { ...parts, ...(readRegistry && { readRegistry }) }, signal)
    }),
  )
}

export function backupOptions({ backupId, source, backup, newIncarnations }: BackupRun): BackupOptions {
  const { topics, clientRack } = source
  const { leaseDurationMs: _, ...settings } = backup
  const rack = clientRack !== undefined && { clientRack }
  const own = { beginsLog: settings.continuous, ...(newIncarnations && { newIncarnations }) }
  return { backupId, topics, ...rack, ...settings, ...own }
}

/** A reading of the groups that a job keeps, as often as it is asked for one; nothing where it keeps none. */
function groupsReader({ backup }: BackupJob, { cluster }: Parts): Pick<BackupParts, 'readGroups'> {
  const selection = backup.consumerGroups
  if (selection.include.length === 0) return {}
  return {
    readGroups: async (ends, signal) => {
      const { readSourceGroups } = await import('../offsets/read-source-groups.ts')
      return readSourceGroups(cluster, selection, ends, signal)
    },
  }
}

/** Reads the access rules that a job backs up. */
function accessReader({ backup }: BackupJob, { cluster }: Parts): Pick<BackupParts, 'readAccess'> {
  if (!backup.acls && !backup.quotas && !backup.users) return {}
  return {
    readAccess: async signal => {
      const { readSourceAccess } = await import('../access/read-source-access.ts')
      return readSourceAccess(cluster, backup, signal)
    },
  }
}

/** What a run has to say. `more` may be found out while its lease is removed. */
interface Finished<T> {
  report: T
  more?: Promise<Partial<T>>
}

/** What a writer of a backup has. */
interface WriterRun {
  options: BackupOptions
  parts: BackupParts & Parts
  /** Where the job prunes after a backup. */
  prune: AfterBackup | undefined
  signal: AbortSignal
}

interface WriterWork<T, Engine> {
  /** Called at once, and awaited when it is needed: a store may be far away. */
  load: () => Promise<Engine>
  /** It begins with the newest state, which is read before it is sure that the run is alone. */
  readsNewest?: boolean
  run: (engine: Engine, run: WriterRun) => Promise<Finished<T>>
}

/**
 * What writes to a backup: under a lease, with metrics where the job asks for them, and a way to name its runs; and to
 * prune, where the job does so after a backup.
 */
function withRun<T extends object, Engine>(
  job: BackupJob,
  kind: string,
  hooks: Hooks,
  signal: AbortSignal,
  work: WriterWork<T, Engine>,
): Promise<T> {
  const assertFit = (storage: Storage, scoped: AbortSignal) =>
    assertWriteOnceLocation({ options: job.storage, storage }, scoped)
  return withMetrics(job, hooks, watched =>
    withRegistryReader(job, readRegistry => {
      const run = async (parts: Parts) => {
        const options = backupOptions(job)
        const loading = work.load()
        const { backupId } = options
        loading.catch(() => undefined)
        const known = new EarlyReadings(parts.storage, backupId, work.readsNewest ?? false, signal)
        const { leaseDurationMs: ttlMs } = job.backup
        const claim = { backupId, role: 'writer', kind, ttlMs, onWritten: () => known.begin() } as const
        const scoped = unlessUnfit(parts, signal)
        const { report, more } = await withLeaseAt(parts.storage, claim, watched, scoped, async lease => {
          await parts.prepared
          const named = { newRun, toolVersion: version, onProgress: watched.onProgress, ...(await known.take()), lease }
          const readers = { ...groupsReader(job, parts), ...accessReader(job, parts) }
          const prune = pruneAfterBackup(job, parts.storage, watched, lease)
          const all = { ...parts, ...named, ...readers, ...(readRegistry && { readRegistry }) }
          const finished = await work.run(await loading, { options, parts: all, prune, signal })
          finished.more?.catch(() => undefined)
          return finished
        }).finally(() => known.close())
        return { ...report, ...(await more) }
      }
      return withParts(job, watched, signal, run, assertFit)
    }),
  )
}

/** A writer that waits for others ends where the store turns out to be unfit. */
function unlessUnfit({ prepared }: Parts, signal: AbortSignal): AbortSignal {
  const unfit = new AbortController()
  prepared.catch(error => unfit.abort(error))
  return AbortSignal.any([signal, unfit.signal])
}
