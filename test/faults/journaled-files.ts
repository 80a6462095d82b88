import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type FileCalls, nodeFileCalls } from '../../src/storage/file/file-calls.ts'

/** What a call changed. It is safe once a later sync of its target has ended that began after it. */
type Effect =
  | { kind: 'name'; target: string; path: string; node: number | undefined; from?: string }
  | { kind: 'bytes'; target: number; position: number; body: Buffer }

/** A sync ended; what was done to its target before entry `began` is safe. */
interface Sync {
  kind: 'sync'
  target: string | number
  began: number
}

export type JournalEntry = Effect | Sync | { kind: 'note'; generation: number }

export interface Journal {
  files: FileCalls
  entries: JournalEntry[]
}

const FOLDER = -1

/** The real file calls, with a journal of what they did and what was made durable when. */
export function journalFiles(): Journal {
  const entries: JournalEntry[] = []
  const nodes = new Map<string, number>()
  let made = 0
  const name = (path: string, node: number | undefined, from?: string) => {
    entries.push({ kind: 'name', target: dirname(path), path, node, ...(from && { from }) })
    if (node === undefined) nodes.delete(path)
    else nodes.set(path, node)
    if (from) nodes.delete(from)
  }
  const open = (async (...args: Parameters<FileCalls['open']>) => {
    const handle = await nodeFileCalls.open(...args)
    const path = String(args[0])
    if (args[1] === 'wx') name(path, ++made)
    const node = nodes.get(path)
    return journalHandle(handle, node === undefined || node === FOLDER ? path : node, entries)
  }) as FileCalls['open']
  const after = <K extends keyof FileCalls>(call: K, work: (...paths: string[]) => void): FileCalls[K] =>
    (async (...args: unknown[]) => {
      const result = await (nodeFileCalls[call] as (...args: unknown[]) => Promise<unknown>)(...args)
      work(...args.map(String))
      return result
    }) as FileCalls[K]
  return {
    entries,
    files: {
      ...nodeFileCalls,
      open,
      link: after('link', (from = '', to = '') => name(to, nodes.get(from))),
      rename: after('rename', (from = '', to = '') => name(to, nodes.get(from), from)),
      unlink: after('unlink', (path = '') => name(path, undefined)),
      mkdir: (async (path: string, options?: { mode?: number }) => {
        const made = await nodeFileCalls.mkdir(path, options)
        name(path, FOLDER)
        return made
      }) as FileCalls['mkdir'],
    },
  }
}

function journalHandle(handle: FileHandle, target: string | number, entries: JournalEntry[]): FileHandle {
  const sync = async (work: () => Promise<void>) => {
    const began = entries.length
    await work()
    entries.push({ kind: 'sync', target, began })
  }
  const own: Partial<FileHandle> = {
    sync: () => sync(() => handle.sync()),
    datasync: () => sync(() => handle.datasync()),
    writev: (async (chunks: Uint8Array[], position: number) => {
      const body = Buffer.concat(chunks)
      const result = await handle.writev(chunks, position)
      if (typeof target === 'number') {
        entries.push({ kind: 'bytes', target, position, body: body.subarray(0, result.bytesWritten) })
      }
      return result
    }) as FileHandle['writev'],
  }
  return new Proxy(handle, {
    get: (whole, property) => {
      const method = Reflect.get(own, property) ?? Reflect.get(whole, property)
      return typeof method === 'function' ? method.bind(whole) : method
    },
  })
}

/** Whether something that no sync has covered is on the disk after the cut. */
export type Luck = (effect: Effect) => boolean

/** The files that are there after power was cut behind so many entries. What was there before all of them stays. */
export function replayCut(
  before: ReadonlyMap<string, Buffer>,
  entries: readonly JournalEntry[],
  cut: number,
  luck: Luck,
): Map<string, Buffer> {
  const safeUpTo = new Map<string | number, number>()
  for (const entry of entries.slice(0, cut)) {
    if (entry.kind === 'sync') {
      safeUpTo.set(entry.target, Math.max(entry.began, safeUpTo.get(entry.target) ?? 0))
    }
  }
  const files = new Map<string, Buffer | number>(before)
  const bodies = new Map<number, Buffer>()
  const lostFolders: string[] = []
  for (const [at, entry] of entries.slice(0, cut).entries()) {
    if (entry.kind === 'sync' || entry.kind === 'note') continue
    const isLost = at >= (safeUpTo.get(entry.target) ?? 0) && !luck(entry)
    if (isLost && entry.kind === 'name' && entry.node === FOLDER) lostFolders.push(`${entry.path}/`)
    if (isLost) continue
    if (entry.kind === 'bytes') {
      const old = bodies.get(entry.target) ?? Buffer.alloc(0)
      const body = Buffer.alloc(Math.max(old.length, entry.position + entry.body.length))
      old.copy(body)
      entry.body.copy(body, entry.position)
      bodies.set(entry.target, body)
    } else {
      if (entry.from) files.delete(entry.from)
      if (entry.node === undefined) files.delete(entry.path)
      else if (entry.node !== FOLDER) files.set(entry.path, entry.node)
    }
  }
  const bodyOf = (file: Buffer | number) => (typeof file === 'number' ? (bodies.get(file) ?? Buffer.alloc(0)) : file)
  const left = [...files].filter(([path]) => !lostFolders.some(folder => path.startsWith(folder)))
  return new Map(left.map(([path, file]) => [path, bodyOf(file)]))
}
