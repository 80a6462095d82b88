import { KafkaBackupError } from '../../src/errors.ts'
import { takeMemory } from '../../src/lib/recycled-memory.ts'
import { assertKey, parsePrefix } from '../../src/storage/key.ts'
import { refuseLargeRead, refuseLargeWrite } from '../../src/storage/object-limits.ts'
import type { ObjectWriter, Storage } from '../../src/storage/storage.ts'

export interface MemoryStorage extends Storage {
  /** What is stored, for a test to look at and to damage. */
  readonly objects: Map<string, Buffer>
  /** When each was written; one that a test put there itself is from 1970. */
  readonly modified: Map<string, number>
  /** Writers that were neither committed nor aborted. */
  readonly openWriters: ReadonlySet<string>
}

/** A storage that lives as long as the test. It passes the suite of its port. */
export function openMemoryStorage({
  writerBytes = 0,
  now = Date.now,
}: {
  writerBytes?: number
  now?: () => number
} = {}): MemoryStorage {
  const objects = new Map<string, Buffer>()
  const modified = new Map<string, number>()
  const openWriters = new Set<string>()
  const enter = (key: string, signal: AbortSignal) => {
    assertKey(key)
    signal.throwIfAborted()
  }
  const find = (key: string): Buffer => {
    const body = objects.get(key)
    if (body === undefined) throw new KafkaBackupError('STORAGE_NOT_FOUND', `${key} is not in memory`)
    return body
  }
  const store = (key: string, body: Buffer): void => {
    objects.set(key, body)
    modified.set(key, now())
  }
  const describe = (key: string) => ({ key, size: find(key).length, modifiedMs: modified.get(key) ?? 0 })
  const put = (key: string, body: Buffer): void => {
    if (objects.has(key)) throw new KafkaBackupError('STORAGE_EXISTS', `${key} is already in memory`)
    store(key, body)
  }

  return {
    location: 'memory',
    writerBytes,
    objects,
    modified,
    openWriters,
    create: async (key, body, signal) => {
      enter(key, signal)
      refuseLargeWrite(key, body.length, 'memory')
      put(key, Buffer.from(body))
    },
    replace: async (key, body, signal) => {
      enter(key, signal)
      refuseLargeWrite(key, body.length, 'memory')
      store(key, Buffer.from(body))
    },
    openWriter: async (key, signal) => {
      enter(key, signal)
      openWriters.add(key)
      return createWriter(key, put, () => openWriters.delete(key))
    },
    read: async (key, signal) => {
      enter(key, signal)
      refuseLargeRead(key, find(key).length, 'memory')
      return Buffer.from(find(key))
    },
    readRange: async (key, start, length, signal) => {
      enter(key, signal)
      const body = find(key)
      if (start + length > body.length) throw new KafkaBackupError('STORAGE_SHORT', `${key} ends at ${body.length}`)
      // As the backends of the program do: readers may give it back, and it is used again.
      const bytes = takeMemory(length)
      body.copy(bytes, 0, start, start + length)
      return bytes
    },
    stat: async (key, signal) => {
      enter(key, signal)
      return objects.has(key) ? describe(key) : undefined
    },
    list: async function* (prefix, signal) {
      signal.throwIfAborted()
      for (const key of keysUnder(objects, prefix)) {
        yield describe(key)
        signal.throwIfAborted()
      }
    },
    listFolders: async function* (prefix, signal) {
      signal.throwIfAborted()
      const folder = parsePrefix(prefix)
      const skipped = folder === '' ? 0 : folder.split('/').length
      const parts = keysUnder(objects, prefix).map(key => key.split('/').slice(skipped))
      for (const name of new Set(parts.filter(({ length }) => length > 1).map(([name = '']) => name))) {
        signal.throwIfAborted()
        yield name
      }
    },
    remove: async (key, signal) => {
      enter(key, signal)
      objects.delete(key)
      modified.delete(key)
    },
    close: async () => undefined,
  }
}

function keysUnder(objects: ReadonlyMap<string, Buffer>, prefix: string): string[] {
  const folder = parsePrefix(prefix)
  return [...objects.keys()].filter(key => folder === '' || key.startsWith(`${folder}/`))
}

function createWriter(key: string, put: (key: string, body: Buffer) => void, onEnd: () => void): ObjectWriter {
  const chunks: Buffer[] = []
  let state: 'open' | 'spent' | 'committed' = 'open'
  const assertOpen = (signal: AbortSignal) => {
    if (signal.aborted) state = state === 'open' ? 'spent' : state
    signal.throwIfAborted()
    if (state === 'spent') throw new KafkaBackupError('STORAGE_UNAVAILABLE', `the writer of ${key} is spent`)
  }
  return {
    write: async (more, signal) => {
      assertOpen(signal)
      chunks.push(...more.map(chunk => Buffer.from(chunk)))
    },
    commit: async signal => {
      assertOpen(signal)
      if (state === 'committed') return
      put(key, Buffer.concat(chunks))
      state = 'committed'
      onEnd()
    },
    abort: async () => {
      if (state !== 'committed') state = 'spent'
      onEnd()
    },
  }
}
