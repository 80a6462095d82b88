import { type Clock, systemClock } from '../lib/clock.ts'
import type { RetryPolicy } from '../lib/retry.ts'
import { openAzureStorage } from './azure/azure-storage.ts'
import { openFilesystemStorage } from './file/filesystem.ts'
import { openGcsStorage } from './gcs/gcs-storage.ts'
import type { StorageOptions } from './location.ts'
import { type StorageObserver, withObservation } from './observed.ts'
import { type RetryObserver, withRetries } from './retrying.ts'
import { openS3Storage, type S3StorageParts } from './s3/s3-storage.ts'
import type { Storage } from './storage.ts'

export interface OpenStorageParts {
  /** Told of every call, with the time that its retries took. */
  observer?: StorageObserver
  onRetry?: RetryObserver
  retryPolicy?: RetryPolicy
  clock?: Clock
  random?: () => number
}

/** Half a minute of trouble, as a file server that restarts makes it, is waited out. */
export const defaultStorageRetryPolicy: RetryPolicy = { attempts: 7, baseDelayMs: 500, maxDelayMs: 10_000 }

/** The one place where a storage is put together: the backend, its retries, and the observer around both. */
export function openStorage(options: StorageOptions, parts: OpenStorageParts = {}): Storage {
  const { clock = systemClock, random = Math.random, retryPolicy = defaultStorageRetryPolicy } = parts
  const retries = { clock, random, ...(parts.onRetry && { onRetry: parts.onRetry }) }
  const retrying = withRetries(openBackend(options, { ...retries, retryPolicy }), retryPolicy, retries)
  return parts.observer === undefined ? retrying : withObservation(retrying, parts.observer, clock)
}

function openBackend(options: StorageOptions, parts: S3StorageParts): Storage {
  switch (options.backend) {
    case 'filesystem':
      return openFilesystemStorage(options)
    case 's3':
      return openS3Storage(options, parts)
    case 'azure':
      return openAzureStorage(options, parts)
    case 'gcs':
      return openGcsStorage(options, parts)
    default:
      return options satisfies never
  }
}
