import { type Clock, systemClock } from '../lib/clock.ts'
import type { ObjectWriter, Storage } from './storage.ts'

export type StorageOperation =
  | 'create'
  | 'replace'
  | 'openWriter'
  | 'write'
  | 'commit'
  | 'abort'
  | 'read'
  | 'readRange'
  | 'stat'
  | 'list'
  | 'listFolders'
  | 'remove'

export interface StorageCall {
  operation: StorageOperation
  /** The key, or the prefix of a listing. */
  key: string
  /** Time spent waiting for the store, without the time the caller of a listing takes between items. */
  ms: number
  /** Object bytes that were transferred; 0 if the call failed. */
  bytes: number
  error?: unknown
}

/** Called once for each call, when it has ended. It must not throw. */
export type StorageObserver = (call: StorageCall) => void

export function withObservation(storage: Storage, observer: StorageObserver, clock: Clock = systemClock): Storage {
  const observe = createObserve(observer, clock)
  return {
    location: storage.location,
    writerBytes: storage.writerBytes,
    create: (key, body, signal) => observe('create', key, body.length, () => storage.create(key, body, signal)),
    replace: (key, body, signal) => observe('replace', key, body.length, () => storage.replace(key, body, signal)),
    openWriter: async (key, signal) =>
      observeWriter(key, await observe('openWriter', key, 0, () => storage.openWriter(key, signal)), observe),
    read: (key, signal) => observe('read', key, 0, () => storage.read(key, signal)),
    readRange: (key, start, length, signal) =>
      observe('readRange', key, 0, () => storage.readRange(key, start, length, signal)),
    stat: (key, signal) => observe('stat', key, 0, () => storage.stat(key, signal)),
    list: (prefix, signal) => observeItems('list', prefix, storage.list(prefix, signal), observer, clock),
    listFolders: (prefix, signal) =>
      observeItems('listFolders', prefix, storage.listFolders(prefix, signal), observer, clock),
    remove: (key, signal) => observe('remove', key, 0, () => storage.remove(key, signal)),
    close: () => storage.close(),
  }
}

type Observe = ReturnType<typeof createObserve>

/** `bytes` counts the input; output is counted from the result. */
function createObserve(observer: StorageObserver, clock: Clock) {
  return async <T>(operation: StorageOperation, key: string, bytes: number, work: () => Promise<T>): Promise<T> => {
    const start = clock.monotonic()
    let result: T
    try {
      result = await work()
    } catch (error) {
      observer({ operation, key, ms: clock.monotonic() - start, bytes: 0, error })
      throw error
    }
    const moved = Buffer.isBuffer(result) ? result.length : bytes
    observer({ operation, key, ms: clock.monotonic() - start, bytes: moved })
    return result
  }
}

function observeWriter(key: string, writer: ObjectWriter, observe: Observe): ObjectWriter {
  return {
    write: (chunks, signal) => {
      const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
      return observe('write', key, bytes, () => writer.write(chunks, signal))
    },
    commit: signal => observe('commit', key, 0, () => writer.commit(signal)),
    abort: () => observe('abort', key, 0, () => writer.abort()),
  }
}

/** One report per listing, also if its caller stops early. */
async function* observeItems<T>(
  operation: StorageOperation,
  key: string,
  items: AsyncIterable<T>,
  observer: StorageObserver,
  clock: Clock,
): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]()
  let ms = 0
  let failure: { error: unknown } | undefined
  const next = async () => {
    const start = clock.monotonic()
    try {
      return await iterator.next()
    } catch (error) {
      failure = { error }
      throw error
    } finally {
      ms += clock.monotonic() - start
    }
  }
  try {
    for (let item = await next(); !item.done; item = await next()) yield item.value
  } finally {
    if (failure === undefined) await iterator.return?.()
    observer({ operation, key, ms, bytes: 0, ...failure })
  }
}
