import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { type RetryPolicy, retry } from '../lib/retry.ts'
import { listAgain, type Next } from './list-again.ts'
import type { StorageOperation } from './observed.ts'
import type { ObjectWriter, Storage } from './storage.ts'

export interface RetryNotice {
  operation: StorageOperation
  /** The key, or the prefix of a listing. */
  key: string
  error: unknown
  /** The try that failed, from 1. */
  attempt: number
  delayMs: number
}

export type RetryObserver = (notice: RetryNotice) => void

export interface RetryingParts {
  clock?: Clock
  random?: () => number
  onRetry?: RetryObserver
}

/**
 * Makes calls again whose error is retryable. Two are special:
 * - `create`: a try that failed may have taken effect. When a later one finds the key taken, the object is read back and
 *   equal bytes are success. So of two that create one key with equal bytes both may be told that they did.
 * - a writer's `write` is never repeated, since nobody keeps what was written before; the caller opens a new writer.
 *   `commit` is, and relies on the backend to know its own object (see `ObjectWriter`).
 */
export function withRetries(storage: Storage, policy: RetryPolicy, parts: RetryingParts = {}): Storage {
  const again: Again = (operation, key, call, signal) => {
    const { onRetry, ...rest } = parts
    const notify = (error: unknown, attempt: number, delayMs: number) =>
      onRetry?.({ operation, key, error, attempt, delayMs })
    return retry(call, policy, { ...rest, isRetryable, onRetry: notify }, signal)
  }

  return {
    location: storage.location,
    writerBytes: storage.writerBytes,
    create: (key, body, signal) =>
      again('create', key, attempt => createOrFindOwn(storage, key, body, attempt, signal), signal),
    replace: (key, body, signal) => again('replace', key, () => storage.replace(key, body, signal), signal),
    openWriter: async (key, signal) => {
      const writer = await again('openWriter', key, () => storage.openWriter(key, signal), signal)
      return retryCommit(writer, key, again)
    },
    read: (key, signal) => again('read', key, () => storage.read(key, signal), signal),
    readRange: (key, start, length, signal) =>
      again('readRange', key, () => storage.readRange(key, start, length, signal), signal),
    stat: (key, signal) => again('stat', key, () => storage.stat(key, signal), signal),
    list: (prefix, signal) => {
      const next: Next = call => again('list', prefix, call, signal)
      return listAgain(
        () => storage.list(prefix, signal),
        object => object.key,
        next,
      )
    },
    listFolders: (prefix, signal) => {
      const next: Next = call => again('listFolders', prefix, call, signal)
      return listAgain(
        () => storage.listFolders(prefix, signal),
        name => name,
        next,
      )
    },
    remove: (key, signal) => again('remove', key, () => storage.remove(key, signal), signal),
    close: () => storage.close(),
  }
}

type Again = <T>(
  operation: StorageOperation,
  key: string,
  call: (attempt: number) => Promise<T>,
  signal: AbortSignal,
) => Promise<T>

function isRetryable(error: unknown): boolean {
  return error instanceof KafkaBackupError && error.retryable
}

async function createOrFindOwn(
  storage: Storage,
  key: string,
  body: Uint8Array,
  attempt: number,
  signal: AbortSignal,
): Promise<void> {
  try {
    await storage.create(key, body, signal)
  } catch (error) {
    if (attempt === 1 || !hasCode(error, 'STORAGE_EXISTS')) throw error
    const found = await storage.read(key, signal)
    if (!found.equals(body)) throw error
  }
}

function retryCommit(writer: ObjectWriter, key: string, again: Again): ObjectWriter {
  return {
    write: (chunks, signal) => writer.write(chunks, signal),
    commit: signal => again('commit', key, () => writer.commit(signal), signal),
    abort: () => writer.abort(),
  }
}
