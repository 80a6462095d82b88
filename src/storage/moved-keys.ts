import type { Storage } from './storage.ts'

/**
 * The same storage with other keys: a key that begins with `from` is stored with `to` in its place. Callers use no other keys.
 * It is closed with the storage that it is a view of.
 */
export function withMovedKeys(storage: Storage, { from, to }: { from: string; to: string }): Storage {
  const inner = (key: string): string => {
    if (key.startsWith(from)) return `${to}${key.slice(from.length)}`
    throw new Error(`${key} does not begin with ${from}`)
  }
  const outer = (key: string) => `${from}${key.slice(to.length)}`
  return {
    location: storage.location,
    writerBytes: storage.writerBytes,
    create: async (key, body, signal) => storage.create(inner(key), body, signal),
    replace: async (key, body, signal) => storage.replace(inner(key), body, signal),
    openWriter: async (key, signal) => storage.openWriter(inner(key), signal),
    read: async (key, signal) => storage.read(inner(key), signal),
    readRange: async (key, start, length, signal) => storage.readRange(inner(key), start, length, signal),
    stat: async (key, signal) => {
      const object = await storage.stat(inner(key), signal)
      return object && { ...object, key }
    },
    async *list(prefix, signal) {
      for await (const object of storage.list(inner(prefix), signal)) yield { ...object, key: outer(object.key) }
    },
    async *listFolders(prefix, signal) {
      yield* storage.listFolders(inner(prefix), signal)
    },
    remove: async (key, signal) => storage.remove(inner(key), signal),
    close: async () => undefined,
  }
}
