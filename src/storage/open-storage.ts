import { type Clock, systemClock } from '../lib/clock.ts'
import type { RetryPolicy } from '../lib/retry.ts'
import { openFilesystemStorage } from './filesystem.ts'
import type { StorageOptions } from './location.ts'
import { type StorageObserver, withObservation } from './observed.ts'
import { type RetryObserver, withRetries } from './retrying.ts'
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
  const retrying = withRetries(openBackend(options), retryPolicy, {
    clock,
    random,
    ...(parts.onRetry && { onRetry: parts.onRetry }),
  })
  return parts.observer === undefined ? retrying : withObservation(retrying, parts.observer, clock)
}

function openBackend(options: StorageOptions): Storage {
  switch (options.backend) {
    case 'filesystem':
      return openFilesystemStorage(options)
    default:
      return options.backend satisfies never
  }
}
