import { hasCode, KafkaBackupError } from '../errors.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { type RetryPolicy, retry } from '../lib/retry.ts'
import type { StorageOperation } from './observed.ts'
import { SeenObjects } from './seen-objects.ts'
import type { ObjectWriter, Storage } from './storage.ts'

export interface RetryNotice {
  operation: StorageOperation
  /** The key, or the prefix of a listing. */
  key: string
  error: unknown
  /** The attempt that failed, from 1. */
  attempt: number
  delayMs: number
}

export type RetryObserver = (notice: RetryNotice) => void

interface RetryingParts {
  clock?: Clock
  random?: () => number
  onRetry?: RetryObserver
}

/**
 * Retries calls that failed with a retryable error. Three are special:
 * - `create`: a failed attempt may have taken effect. If a later attempt finds the key taken, the object is read back, and
 *   equal bytes count as success. So two callers that create one key with equal bytes may both succeed.
 * - a writer's `write` is never retried, because the bytes before it are gone; the caller opens a new writer. `commit` is
 *   retried, unless content is missing, and relies on the backend to recognize its own object (see `ObjectWriter`).
 * - what was there a moment ago and is not found is looked for once more: during a fail-over, a store may answer so.
 */
export function withRetries(storage: Storage, policy: RetryPolicy, parts: RetryingParts = {}): Storage {
  const seen = new SeenObjects()
  const again = createAgain(seen, policy, parts)
  const { clock = systemClock } = parts

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
    stat: async (key, signal) => {
      const stat = () => again('stat', key, () => storage.stat(key, signal), signal)
      const found = await stat()
      if (found || !seen.takeDoubt('stat', key)) return found
      await clock.sleep(policy.baseDelayMs, signal)
      return stat()
    },
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

function createAgain(seen: SeenObjects, policy: RetryPolicy, { onRetry, ...rest }: RetryingParts): Again {
  return async (operation, key, call, signal, isSpent) => {
    const isRepeated = (error: unknown) =>
      !isSpent?.() && (isRetryable(error) || (hasCode(error, 'STORAGE_NOT_FOUND') && seen.takeDoubt(operation, key)))
    const notify = (error: unknown, attempt: number, delayMs: number) =>
      onRetry?.({ operation, key, error, attempt, delayMs })
    const result = await retry(call, policy, { ...rest, isRetryable: isRepeated, onRetry: notify }, signal)
    seen.note(operation, key, result !== undefined)
    return result
  }
}

type Again = <T>(
  operation: StorageOperation,
  key: string,
  call: (attempt: number) => Promise<T>,
  signal: AbortSignal,
  /** Whether a repetition would be in vain. */
  isSpent?: () => boolean,
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
    commit: signal =>
      again(
        'commit',
        key,
        () => writer.commit(signal),
        signal,
        () => writer.isSpent === true,
      ),
    abort: () => writer.abort(),
  }
}

/** Repeats a call as long as its error is retryable and attempts are left. */
export type Next = <T>(call: () => Promise<T>) => Promise<T>

/** This many keys in ascending order show that the store lists in order, as buckets do. */
const SURE_AFTER = 10_000

/**
 * Restarts the listing after a failure and skips what was yielded before. Attempts count from the last new item, so a long
 * listing survives many short failures. It remembers the yielded keys, or only the last one once a long listing proved to be
 * in order: a backup may have millions of objects.
 */
export async function* listAgain<T>(
  open: () => AsyncIterable<T>,
  keyOf: (item: T) => string,
  again: Next,
): AsyncGenerator<T> {
  const yielded = new YieldedKeys()
  let iterator: AsyncIterator<T> | undefined
  const nextNew = async (): Promise<IteratorResult<T>> => {
    yielded.assertTraceable()
    iterator ??= open()[Symbol.asyncIterator]()
    try {
      for (;;) {
        const item = await iterator.next()
        if (item.done || yielded.isNew(keyOf(item.value))) return item
      }
    } catch (error) {
      iterator = undefined
      yielded.reopen(error)
      throw error
    }
  }
  try {
    for (let item = await again(nextNew); !item.done; item = await again(nextNew)) yield item.value
  } finally {
    await iterator?.return?.()
  }
}

class YieldedKeys {
  /** All of them; undefined once the last one is enough. */
  #keys: Set<string> | undefined = new Set()
  /** The key before, in this listing, yielded or skipped. */
  #previous = ''
  /** The highest key that was yielded. */
  #last = ''
  #isAscending = true
  #isReopened = false
  #failure: { error: unknown } | undefined

  /** If yielded keys can no longer be recognized, the error of the listing is final. */
  assertTraceable(): void {
    if (this.#failure) throw this.#failure.error
  }

  isNew(key: string): boolean {
    const isInOrder = key > this.#previous
    this.#previous = key
    if (this.#keys?.has(key)) return false
    if (!this.#keys && this.#isReopened) {
      if (!isInOrder) throw this.#failed(otherOrder(key))
      if (key <= this.#last) return false
    }
    this.#isAscending &&= key > this.#last
    this.#last = key
    this.#keys?.add(key)
    if (this.#isAscending && this.#keys?.size === SURE_AFTER) this.#keys = undefined
    return true
  }

  reopen(error: unknown): void {
    if (!this.#keys && !this.#isAscending) this.#failed(error)
    this.#isReopened = true
    this.#previous = ''
  }

  #failed(error: unknown): unknown {
    this.#failure ??= { error }
    return error
  }
}

function otherOrder(key: string): KafkaBackupError {
  const message = `an object listing that began in order is out of order at ${JSON.stringify(key)}`
  return new KafkaBackupError('STORAGE_UNAVAILABLE', message)
}
