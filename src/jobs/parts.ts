import { randomBytes } from 'node:crypto'
import type { Job, RestoreJob } from '../config/load-job.ts'
import type { EncryptedStorage } from '../encryption/encrypted-storage.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { systemClock } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import { maxRoundAgeMs } from '../observe/progress.ts'
import { type ListedLocation, locationExists } from '../storage/check-location.ts'
import type { StorageOptions } from '../storage/location.ts'
import type { StorageObserver } from '../storage/observed.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { version } from '../version.ts'
import { openEncryption, type StoragePlace } from './encryption.ts'

/** What a caller observes of a run, and how it runs. */
export interface Hooks {
  onProgress: OnProgress
  /** Every Kafka request by its name, with the `host:port` that it goes to. */
  onRequest?: (name: string, broker: string) => void
  /** Every call to the store with the time it took. */
  onStorageCall?: StorageObserver
  /** A decorator around the store. */
  decorateStorage?: (storage: Storage) => Storage
  /** The run only reads, as a check and a dry run do: it serves no metrics and writes no lease. */
  isReadOnly?: boolean
}

/** What a caller observes of work that only reads. */
export type Watch = Pick<Hooks, 'onProgress'>

export const readOnly: Hooks = { onProgress: () => undefined, isReadOnly: true }

/** The engine and the Kafka client are loaded by what needs them: a look at an archive starts without them. */
export function openStoragePlace(place: StoragePlace): EncryptedStorage {
  return openEncryption(openStorage(place.storage), place)
}

/** For reading: a location that is not there is a mistyped one, not one without backups. */
export async function openExistingStorage(place: StoragePlace, signal: AbortSignal): Promise<Storage> {
  return existing(place.storage, openStoragePlace({ ...place, mode: undefined }), signal)
}

/** The same without keys: what is encrypted shows as it is stored. */
export async function openBareStorage(options: StorageOptions, signal: AbortSignal): Promise<Storage> {
  return existing(options, openStorage(options), signal)
}

async function existing(options: StorageOptions, storage: Storage, signal: AbortSignal): Promise<Storage> {
  try {
    await assertExists({ options, storage }, signal)
    return storage
  } catch (error) {
    await storage.close()
    throw error
  }
}

export async function assertExists(location: ListedLocation, signal: AbortSignal): Promise<void> {
  if (await locationExists(location, signal)) return
  throw new KafkaBackupError('STORAGE_NOT_FOUND', `there is nothing at ${location.storage.location}`, {
    details: { location: location.storage.location },
  })
}

/** Eight characters are enough to keep the runs of one backup apart. */
export function newRun(): string {
  return randomBytes(4).toString('hex')
}

interface WatchedJob extends Pick<Job, 'mode' | 'metrics' | 'backupId'> {
  /** What runs, where the mode of the job does not say it. */
  name?: string
  backup?: { continuous: boolean; commitIntervalMs: number }
  /** Runs together with other commands of the same job: a used address is only a warning. */
  isSecondary?: boolean
}

/** Serves metrics and progress during the work, where the job asks for them and the run does not only read. */
export async function withMetrics<T>(job: WatchedJob, hooks: Hooks, work: (hooks: Hooks) => Promise<T>): Promise<T> {
  if (!job.metrics || hooks.isReadOnly) return work(hooks)
  const { openJobListener } = await import('../observe/job-listener.ts')
  const { listen } = job.metrics
  const options = {
    ...{ listen, job: job.name ?? job.mode, backupId: job.backupId, version, clock: systemClock },
    maxRoundAgeMs:
      job.name === undefined && job.backup?.continuous ? maxRoundAgeMs(job.backup.commitIntervalMs) : undefined,
  }
  const listener = await openJobListener(options).catch((error: Error) => {
    if (!job.isSecondary) throw error
    hooks.onProgress({ type: 'warning', message: error.message })
    return undefined
  })
  if (!listener) return work(hooks)
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

export interface Parts {
  cluster: Cluster
  storage: EncryptedStorage
  clock: typeof systemClock
  /** What was to be prepared at the store is done, or has failed. */
  prepared: Promise<void>
}

/**
 * Opens the parts of a job. `prepare` uses the store while the cluster is connected to, and the work waits for it where it has to: a store
 * may be far away. A cluster that cannot be reached is reported first.
 */
export async function withParts<T>(
  job: StoragePlace & { source: RestoreJob['target'] },
  hooks: Hooks,
  signal: AbortSignal,
  work: (parts: Parts) => Promise<T>,
  prepare: (storage: EncryptedStorage, signal: AbortSignal) => Promise<void> = async () => undefined,
): Promise<T> {
  return withStorage(job, hooks, async storage => {
    const stop = new AbortController()
    const prepared = prepare(storage, AbortSignal.any([signal, stop.signal]))
    prepared.catch(() => undefined)
    try {
      const cluster = await openCluster(job.source, hooks, signal)
      try {
        return await work({ cluster, storage, clock: systemClock, prepared })
      } finally {
        cluster.close()
      }
    } finally {
      stop.abort()
      await prepared.catch(() => undefined)
    }
  })
}

/** The cluster alone. */
export async function withCluster<T>(
  source: RestoreJob['target'],
  hooks: Hooks,
  signal: AbortSignal,
  work: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const cluster = await openCluster(source, hooks, signal)
  try {
    return await work(cluster)
  } finally {
    cluster.close()
  }
}

async function openCluster(source: RestoreJob['target'], hooks: Hooks, signal: AbortSignal): Promise<Cluster> {
  const { Cluster } = await import('../kafka/cluster.ts')
  const { onRequest } = hooks
  const fixed = { softwareVersion: version, clock: systemClock, onRetry: tellRetry(hooks) }
  return Cluster.open({ ...source, ...fixed, ...(onRequest && { onRequest }) }, signal)
}

export async function withStorage<T>(
  place: StoragePlace,
  hooks: Hooks,
  work: (storage: EncryptedStorage) => Promise<T>,
): Promise<T> {
  const { onStorageCall, decorateStorage = (storage: Storage) => storage } = hooks
  const onRetry = tellRetry(hooks)
  const opened = decorateStorage(
    openStorage(place.storage, {
      clock: systemClock,
      onRetry: ({ error, delayMs }) => onRetry(error, delayMs),
      ...(onStorageCall && { observer: onStorageCall }),
    }),
  )
  const storage = openEncryption(opened, place)
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}

function tellRetry({ onProgress }: Hooks): (error: unknown, delayMs: number) => void {
  return (error, delayMs) =>
    onProgress({ type: 'retry', what: error instanceof Error ? error.message : String(error), delayMs })
}
