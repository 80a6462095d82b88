import { type Clock, systemClock } from '../lib/clock.ts'
import type { RetryPolicy } from '../lib/retry.ts'
import { openAzureStorage } from './azure/azure-storage.ts'
import type { BucketStorageParts } from './bucket/bucket-storage.ts'
import { openFilesystemStorage } from './file/filesystem.ts'
import { openGcsStorage } from './gcs/gcs-storage.ts'
import type { StorageOptions } from './location.ts'
import { type StorageObserver, withObservation } from './observed.ts'
import { type RetryObserver, withRetries } from './retrying.ts'
import { openS3Storage } from './s3/s3-storage.ts'
import type { Storage } from './storage.ts'

interface OpenStorageParts {
  /** Receives every call, with the time that its retries took. */
  observer?: StorageObserver
  onRetry?: RetryObserver
  retryPolicy?: RetryPolicy
  clock?: Clock
  random?: () => number
}

/** Survives half a minute of failures, such as the restart of a file server. */
export const defaultStorageRetryPolicy: RetryPolicy = { attempts: 7, baseDelayMs: 500, maxDelayMs: 10_000 }

/** Composes a storage: the backend, its retries, and the observer around both. */
export function openStorage(options: StorageOptions, parts: OpenStorageParts = {}): Storage {
  const { clock = systemClock, random = Math.random, retryPolicy = defaultStorageRetryPolicy } = parts
  const retries = { clock, random, ...(parts.onRetry && { onRetry: parts.onRetry }) }
  const retrying = withRetries(openBackend(options, { ...retries, retryPolicy }), retryPolicy, retries)
  return parts.observer === undefined ? retrying : withObservation(retrying, parts.observer, clock)
}

function openBackend(options: StorageOptions, parts: BucketStorageParts): Storage {
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
