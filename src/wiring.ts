import { randomBytes } from 'node:crypto'
import { type CheckReport, checkBackup } from './backup/check.ts'
import { type DryRun, dryRunBackup } from './backup/dry-run.ts'
import type { BackupOptions } from './backup/options.ts'
import { type BackupReport, runBackup } from './backup/run-backup.ts'
import type { Job } from './config/load-job.ts'
import { Cluster } from './kafka/cluster.ts'
import { systemClock } from './lib/clock.ts'
import type { OnProgress } from './observe/progress.ts'
import { checkAccess } from './storage/access.ts'
import { parseLocation } from './storage/location.ts'
import type { StorageObserver } from './storage/observed.ts'
import { openStorage } from './storage/open-storage.ts'
import type { Storage } from './storage/storage.ts'
import { version } from './version.ts'

/** Whoever wants to watch a run. */
export interface Hooks {
  onProgress: OnProgress
  /** Every Kafka request by its name. */
  onRequest?: (name: string) => void
  /** Every call to the store with the time it took. */
  onStorageCall?: StorageObserver
  /** A decorator of the caller's own around the store. */
  decorateStorage?: (storage: Storage) => Storage
}

const quiet: Hooks = { onProgress: () => undefined }

export function openLocation(path: string): Storage {
  return openStorage(parseLocation(path))
}

export function openJobStorage(job: Job): Storage {
  return openStorage(job.storage)
}

export function runBackupJob(job: Job, hooks: Hooks, signal: AbortSignal): Promise<BackupReport> {
  return withParts(job, hooks, signal, parts => {
    const { onProgress } = hooks
    // Eight characters are enough to keep the runs of one backup apart.
    const run = randomBytes(5).toString('hex').slice(0, 8)
    return runBackup(backupOptions(job), { ...parts, run, toolVersion: version, onProgress }, signal)
  })
}

export function dryRunJob(job: Job, signal: AbortSignal): Promise<DryRun> {
  return withParts(job, quiet, signal, parts => dryRunBackup(backupOptions(job), parts, signal))
}

export function checkJob(job: Job, signal: AbortSignal): Promise<CheckReport> {
  return withParts(job, quiet, signal, async parts => {
    const access = await checkAccess(job.storage)
    const storageChecks = access.map(one => ({ subject: `storage ${parts.storage.location}`, ...one }))
    return checkBackup(backupOptions(job), { ...parts, storageChecks }, signal)
  })
}

export function backupOptions(job: Job): BackupOptions {
  const { topics } = job.source
  return { backupId: job.backupId, topics, ...job.backup }
}

async function withParts<T>(
  job: Job,
  { onProgress, onRequest, onStorageCall, decorateStorage = storage => storage }: Hooks,
  signal: AbortSignal,
  work: (parts: { cluster: Cluster; storage: Storage; clock: typeof systemClock }) => Promise<T>,
): Promise<T> {
  const clock = systemClock
  const onRetry = (error: unknown, delayMs: number) =>
    onProgress({ type: 'retry', what: error instanceof Error ? error.message : String(error), delayMs })
  const storage = decorateStorage(openStorage(job.storage, { clock, ...(onStorageCall && { observer: onStorageCall }) }))
  try {
    const cluster = await Cluster.open(
      { ...job.source, softwareVersion: version, clock, onRetry, ...(onRequest && { onRequest }) },
      signal,
    )
    try {
      return await work({ cluster, storage, clock })
    } finally {
      cluster.close()
    }
  } finally {
    await storage.close()
  }
}
