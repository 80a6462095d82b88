import { AsyncLocalStorage } from 'node:async_hooks'
import fs from 'node:fs'
import { open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { resolve } from 'node:path'

/** What one run did to the file system, and the memory that it asked for. */
export interface Watch {
  /** Absolute paths that were opened, listed, changed or asked for. */
  paths: Set<string>
  readBytes: number
  calls: number
  largestBuffer: number
  bufferBytes: number
}

const watches = new AsyncLocalStorage<Watch>()

/** Runs `work` and answers with what it and all that it started did. `patchCalls` must be in force. */
export async function watchCalls<T>(work: () => Promise<T>): Promise<{ result: T; watch: Watch }> {
  const watch: Watch = { paths: new Set(), readBytes: 0, calls: 0, largestBuffer: 0, bufferBytes: 0 }
  return { result: await watches.run(watch, work), watch }
}

/** Calls with one path, and those with two. */
const onePath = ['access', 'chmod', 'lstat', 'mkdir', 'open', 'opendir', 'readFile', 'readdir', 'readlink', 'realpath']
const morePaths = [
  'rm',
  'rmdir',
  'stat',
  'truncate',
  'unlink',
  'utimes',
  'writeFile',
  'appendFile',
  'mkdtemp',
  'statfs',
]
const twoPaths = ['copyFile', 'cp', 'link', 'rename', 'symlink']

/** Puts a recorder in front of the file calls and the allocations of this process; the function returned removes it. */
export async function patchCalls(): Promise<() => void> {
  const undo: (() => void)[] = []
  const names = [...onePath, ...morePaths, ...twoPaths]
  for (const home of [fs.promises, fs] as unknown as Record<string, unknown>[]) {
    for (const name of names.flatMap(name => [name, `${name}Sync`])) patchPaths(home, name, undo)
  }
  const handle = await open(import.meta.filename)
  patchReads(Object.getPrototypeOf(handle), undo)
  await handle.close()
  for (const name of ['alloc', 'allocUnsafe', 'allocUnsafeSlow']) patchAllocations(name, undo)
  syncBuiltinESMExports()
  return () => {
    for (const step of undo) step()
    syncBuiltinESMExports()
  }
}

type Call = (this: unknown, ...args: unknown[]) => unknown

function replace(home: Record<string, unknown>, name: string, undo: (() => void)[], wrap: (call: Call) => Call): void {
  const original = home[name]
  if (typeof original !== 'function') return
  home[name] = wrap(original as Call)
  undo.push(() => {
    home[name] = original
  })
}

function patchPaths(home: Record<string, unknown>, name: string, undo: (() => void)[]): void {
  const count = twoPaths.includes(name.replace(/Sync$/, '')) ? 2 : 1
  replace(
    home,
    name,
    undo,
    call =>
      function (...args) {
        const watch = watches.getStore()
        if (watch) {
          watch.calls++
          for (const path of args.slice(0, count)) if (typeof path === 'string') watch.paths.add(resolve(path))
        }
        return call.apply(this, args)
      },
  )
}

/** Of a file handle. */
function patchReads(home: Record<string, unknown>, undo: (() => void)[]): void {
  replace(
    home,
    'read',
    undo,
    call =>
      async function (...args) {
        const answer = (await call.apply(this, args)) as { bytesRead: number }
        const watch = watches.getStore()
        if (watch) watch.readBytes += answer.bytesRead
        return answer
      },
  )
}

function patchAllocations(name: string, undo: (() => void)[]): void {
  replace(
    Buffer as unknown as Record<string, unknown>,
    name,
    undo,
    call =>
      function (...args) {
        const watch = watches.getStore()
        const size = Number(args[0])
        if (watch) {
          watch.largestBuffer = Math.max(watch.largestBuffer, size)
          watch.bufferBytes += size
        }
        return call.apply(this, args)
      },
  )
}
