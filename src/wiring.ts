import { randomBytes } from 'node:crypto'
import type { DryRun } from './backup/dry-run.ts'
import type { BackupOptions } from './backup/options.ts'
import type { BackupParts } from './backup/round.ts'
import type { BackupReport } from './backup/run-backup.ts'
import type { ShardReport } from './backup/run-shard.ts'
import type { ShardNumber } from './backup/shards.ts'
import type { BackupJob, Job, RestoreJob } from './config/load-job.ts'
import { KafkaBackupError } from './errors.ts'
import type { Cluster } from './kafka/cluster.ts'
import { systemClock } from './lib/clock.ts'
import type { CheckReport } from './observe/check.ts'
import type { OnProgress } from './observe/progress.ts'
import type { CompareReport } from './restore/compare.ts'
import type { RestoreDryRun } from './restore/dry-run.ts'
import type { OffsetPlace } from './restore/find-offset.ts'
import type { OffsetMapFilter, OffsetMapRun } from './restore/offset-map.ts'
import type { RestoreOptions } from './restore/options.ts'
import type { RestoreReport } from './restore/report.ts'
import type { RestoreParts } from './restore/run-restore.ts'
import { assertFit, checkAccess, locationExists, type Place } from './storage/access.ts'
import { parseLocation, type StorageOptions } from './storage/location.ts'
import type { StorageObserver } from './storage/observed.ts'
import { openStorage } from './storage/open-storage.ts'
import type { Storage } from './storage/storage.ts'
import { version } from './version.ts'

/** Whoever wants to watch a run. */
export interface Hooks {
  onProgress: OnProgress
  /** Every Kafka request by its name, with the `host:port` that it goes to. */
  onRequest?: (name: string, broker: string) => void
  /** Every call to the store with the time it took. */
  onStorageCall?: StorageObserver
  /** A decorator of the caller's own around the store. */
  decorateStorage?: (storage: Storage) => Storage
}

const quiet: Hooks = { onProgress: () => undefined }

/** The engine and the Kafka client are loaded by what needs them: a look at an archive starts without them. */
export function openLocation(path: string): Storage {
  return openStorage(parseLocation(path))
}

export function openJobStorage(job: Job): Storage {
  return openStorage(job.storage)
}

/** For reading: a location that is not there is a mistyped one, not one without backups. */
export async function openExistingStorage(options: StorageOptions, signal: AbortSignal): Promise<Storage> {
  const storage = openStorage(options)
  try {
    await assertExists({ options, storage }, signal)
    return storage
  } catch (error) {
    await storage.close()
    throw error
  }
}

async function assertExists(place: Place, signal: AbortSignal): Promise<void> {
  if (await locationExists(place, signal)) return
  throw new KafkaBackupError('STORAGE_NOT_FOUND', `there is nothing at ${place.storage.location}`)
}

export function runBackupJob(job: BackupJob, hooks: Hooks, signal: AbortSignal): Promise<BackupReport> {
  return withRun(job, hooks, signal, async (options, parts) => {
    if (options.continuous) return (await import('./backup/run-continuous.ts')).runContinuous(options, parts, signal)
    return (await import('./backup/run-backup.ts')).runBackup(options, parts, signal)
  })
}

/** Copies the partitions of one of several processes; `commitShardsJob` makes what they have done count. */
export function runShardJob(
  job: BackupJob,
  shard: ShardNumber,
  hooks: Hooks,
  signal: AbortSignal,
): Promise<ShardReport> {
  return withRun(job, hooks, signal, async (options, parts) =>
    (await import('./backup/run-shard.ts')).runShard(options, shard, parts, signal),
  )
}

export function commitShardsJob(job: BackupJob, hooks: Hooks, signal: AbortSignal): Promise<BackupReport> {
  return withRun(job, hooks, signal, async (options, parts) =>
    (await import('./backup/commit-shards.ts')).commitShards(options, parts, signal),
  )
}

export function dryRunJob(job: BackupJob, signal: AbortSignal): Promise<DryRun> {
  return withParts(job, quiet, signal, async parts => {
    const { dryRunBackup } = await import('./backup/dry-run.ts')
    return dryRunBackup(backupOptions(job), parts, signal)
  })
}

/** Tries out what a job needs, of either kind, and writes nothing but the probe of a bucket for backups. */
export function checkJob(job: Job, signal: AbortSignal): Promise<CheckReport> {
  return job.mode === 'restore' ? checkRestoreJob(job, signal) : checkBackupJob(job, signal)
}

function checkBackupJob(job: BackupJob, signal: AbortSignal): Promise<CheckReport> {
  return withParts(job, quiet, signal, async parts => {
    const { checkBackup } = await import('./backup/check.ts')
    const access = await checkAccess({ options: job.storage, storage: parts.storage }, signal)
    const storageChecks = access.map(one => ({ subject: `storage ${parts.storage.location}`, ...one }))
    return checkBackup(backupOptions(job), { ...parts, storageChecks }, signal)
  })
}

function checkRestoreJob(job: RestoreJob, signal: AbortSignal): Promise<CheckReport> {
  return withRestore(job, quiet, signal, async (...args) =>
    (await import('./restore/check.ts')).checkRestore(...args, signal),
  )
}

/** A restore from any location, not only from one that a job file describes. */
export type LocatedRestoreJob = Omit<RestoreJob, 'storage'> & { storage: StorageOptions }

/** Reads the target of a restore back and compares it with the backup. */
export function compareJob(job: LocatedRestoreJob, hooks: Hooks, signal: AbortSignal): Promise<CompareReport> {
  return withParts({ ...job, source: job.target }, hooks, signal, async parts => {
    const { compareRestore } = await import('./restore/compare.ts')
    return compareRestore(restoreOptions(job), { ...parts, onProgress: hooks.onProgress }, signal)
  })
}

/** Where the records of the source are on the target. */
export function offsetMapJob(job: RestoreJob, filter: OffsetMapFilter, signal: AbortSignal): Promise<OffsetMapRun[]> {
  return withParts({ ...job, source: job.target }, quiet, signal, async parts => {
    const { readOffsetMap } = await import('./restore/offset-map.ts')
    const runs: OffsetMapRun[] = []
    for await (const run of readOffsetMap(restoreOptions(job), parts, filter, signal)) runs.push(run)
    return runs
  })
}

export interface OffsetAt {
  topic: string
  partition: number
  offset: bigint
}

export function findOffsetJob(job: RestoreJob, at: OffsetAt, signal: AbortSignal): Promise<OffsetPlace | undefined> {
  return withParts({ ...job, source: job.target }, quiet, signal, async parts => {
    const [{ openOffsetMaps }, { findOffset }] = await Promise.all([
      import('./restore/offset-map.ts'),
      import('./restore/find-offset.ts'),
    ])
    return findOffset(openOffsetMaps(restoreOptions(job), parts, at, signal), at.offset)
  })
}

export interface PlainRestore {
  path: string
  backupId: string
  /** `host:port`, several with commas. */
  target: string
}

/** The job of a restore of everything to a cluster without security. */
export async function plainRestoreJob({ path, backupId, target }: PlainRestore): Promise<LocatedRestoreJob> {
  const { parseJob } = await import('./config/load-job.ts')
  const document = {
    mode: 'restore',
    backup_id: backupId,
    target: { bootstrap_servers: target.split(',') },
    storage: { backend: 'filesystem', path: '.' },
  }
  const job = parseJob(JSON.stringify(document), { source: 'the command line', env: {}, mode: 'restore' })
  return { ...job, storage: parseLocation(path) }
}

export function backupOptions(job: BackupJob): BackupOptions {
  const { topics, clientRack } = job.source
  return { backupId: job.backupId, topics, ...(clientRack !== undefined && { clientRack }), ...job.backup }
}

/** Puts a backup back on the target of the job. The store is only read. */
export function runRestoreJob(job: RestoreJob, hooks: Hooks, signal: AbortSignal): Promise<RestoreReport> {
  return withRestore(job, hooks, signal, async (...args) =>
    (await import('./restore/run-restore.ts')).runRestore(...args, signal),
  )
}

/** What a restore would do, with all that stands in its way. Neither the store nor the target is changed. */
export function dryRunRestoreJob(job: RestoreJob, signal: AbortSignal): Promise<RestoreDryRun> {
  return withRestore(job, quiet, signal, async (...args) =>
    (await import('./restore/dry-run.ts')).dryRunRestore(...args, signal),
  )
}

export function restoreOptions({ backupId, restore }: Pick<RestoreJob, 'backupId' | 'restore'>): RestoreOptions {
  const { timeWindowStartMs, timeWindowEndMs, ...options } = restore
  const timeWindow = {
    ...(timeWindowStartMs !== undefined && { start: timeWindowStartMs }),
    ...(timeWindowEndMs !== undefined && { end: timeWindowEndMs }),
  }
  return { backupId, ...options, timeWindow }
}

/** What reads a backup and works on a target: the options are judged before anything is connected to. */
async function withRestore<T>(
  job: RestoreJob,
  hooks: Hooks,
  signal: AbortSignal,
  work: (options: RestoreOptions, parts: RestoreParts) => Promise<T>,
): Promise<T> {
  const options = restoreOptions(job)
  const { requestTimeoutMs } = job.target
  return withMetrics(job, hooks, watched =>
    withParts({ ...job, source: job.target }, watched, signal, async parts => {
      await assertExists({ options: job.storage, storage: parts.storage }, signal)
      return work(options, { ...parts, requestTimeoutMs, onProgress: watched.onProgress })
    }),
  )
}

/** What writes to a backup: with metrics where the job asks for them, and a way to name its runs. */
function withRun<T>(
  job: BackupJob,
  hooks: Hooks,
  signal: AbortSignal,
  work: (options: BackupOptions, parts: BackupParts) => Promise<T>,
): Promise<T> {
  return withMetrics(job, hooks, watched =>
    withParts(job, watched, signal, async parts => {
      await assertFit({ options: job.storage, storage: parts.storage }, signal)
      return work(backupOptions(job), { ...parts, newRun, toolVersion: version, onProgress: watched.onProgress })
    }),
  )
}

/** Eight characters are enough to keep the runs of one backup apart. */
function newRun(): string {
  return randomBytes(4).toString('hex')
}

/** Serves metrics while the work goes on, where the job asks for them; a look at things serves none. */
async function withMetrics<T>(job: Job, hooks: Hooks, work: (hooks: Hooks) => Promise<T>): Promise<T> {
  if (!job.metrics || hooks === quiet) return work(hooks)
  const { openJobListener } = await import('./observe/job-listener.ts')
  const { listen } = job.metrics
  const listener = await openJobListener({ listen, backupId: job.backupId, version, now: systemClock.now })
  const onProgress: OnProgress = event => {
    listener.onProgress(event)
    hooks.onProgress(event)
  }
  const onStorageCall: StorageObserver = call => {
    listener.onStorageCall(call)
    hooks.onStorageCall?.(call)
  }
  try {
    return await work({ ...hooks, onProgress, onStorageCall })
  } finally {
    await listener.close()
  }
}

async function withParts<T>(
  job: { storage: StorageOptions; source: RestoreJob['target'] } & Pick<Job, 'enterprise'>,
  { onProgress, onRequest, onStorageCall, decorateStorage = storage => storage }: Hooks,
  signal: AbortSignal,
  work: (parts: { cluster: Cluster; storage: Storage; clock: typeof systemClock }) => Promise<T>,
): Promise<T> {
  const { refuseRegistry } = await import('./config/refuse-registry.ts')
  refuseRegistry(job)
  const clock = systemClock
  const onRetry = (error: unknown, delayMs: number) =>
    onProgress({ type: 'retry', what: error instanceof Error ? error.message : String(error), delayMs })
  const storage = decorateStorage(
    openStorage(job.storage, {
      clock,
      onRetry: ({ error, delayMs }) => onRetry(error, delayMs),
      ...(onStorageCall && { observer: onStorageCall }),
    }),
  )
  try {
    const { Cluster } = await import('./kafka/cluster.ts')
    const options = { ...job.source, softwareVersion: version, clock, onRetry, ...(onRequest && { onRequest }) }
    const cluster = await Cluster.open(options, signal)
    try {
      return await work({ cluster, storage, clock })
    } finally {
      cluster.close()
    }
  } finally {
    await storage.close()
  }
}
