import type { Hooks } from '../../src/jobs/parts.ts'
import type { ProgressEvent } from '../../src/observe/progress.ts'
import { within } from '../wait-for.ts'

/** A restore that has come this far takes seconds. */
const LIMIT_MS = 120_000

/** Records of these objects are not read before an event says so; the reading fails where it does not come. */
export function holdBack(folder: string, isOpen: (event: ProgressEvent) => boolean): Hooks {
  const { promise, resolve } = Promise.withResolvers<void>()
  const events: string[] = []
  const awaited = () =>
    `the event that lets objects with ${folder} be read; the last ones: ${events.slice(-20).join(', ')}`
  const held = async (key: string, signal: AbortSignal) => {
    if (!key.includes(folder) || !key.includes('.log')) return
    const aborted = new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    )
    await within(LIMIT_MS, awaited, Promise.race([promise, aborted]))
  }
  return {
    onProgress: event => {
      if (event.type !== 'copied') events.push('message' in event ? `${event.type}: ${event.message}` : event.type)
      if (isOpen(event)) resolve()
    },
    decorateStorage: storage => ({
      location: storage.location,
      writerBytes: storage.writerBytes,
      create: (...args) => storage.create(...args),
      replace: (...args) => storage.replace(...args),
      openWriter: (...args) => storage.openWriter(...args),
      read: async (key, signal) => held(key, signal).then(() => storage.read(key, signal)),
      readRange: async (key, start, length, signal) =>
        held(key, signal).then(() => storage.readRange(key, start, length, signal)),
      stat: (...args) => storage.stat(...args),
      list: (...args) => storage.list(...args),
      listFolders: (...args) => storage.listFolders(...args),
      remove: (...args) => storage.remove(...args),
      close: () => storage.close(),
    }),
  }
}
