import type { FileHandle } from 'node:fs/promises'
import { basename } from 'node:path'
import { type FileCalls, nodeFileCalls } from '../../src/storage/file/file-calls.ts'

export interface RecordedFiles {
  files: FileCalls
  /** `link x.bin`, `datasync .tmp-`, …: the call and the last part of the path it ends on, in the order of completion. */
  log: string[]
}

/**
 * The real file calls, recorded. `interfere` sees each before it is made and may throw in its place; what it returns
 * for a `writev` limits the bytes that are taken.
 */
export function recordFiles(interfere: (call: string) => number | undefined = () => undefined): RecordedFiles {
  const log: string[] = []
  const around = async <T>(name: string, path: string, work: (limit: number | undefined) => Promise<T>): Promise<T> => {
    const call = `${name} ${basename(path).replace(/^(\.tmp-).*/, '$1')}`
    const limit = interfere(call)
    const result = await work(limit)
    log.push(call)
    return result
  }

  const recordHandle = (handle: FileHandle, path: string): FileHandle =>
    new Proxy(handle, {
      get: (target, property) => {
        const method = Reflect.get(target, property)
        if (typeof method !== 'function') return method
        return (...args: unknown[]) =>
          around(String(property), path, async limit =>
            Reflect.apply(method, target, limit === undefined ? args : limitWrite(args, limit)),
          )
      },
    })

  const record = <K extends keyof FileCalls>(name: K, pathIndex: number): FileCalls[K] => {
    const call = nodeFileCalls[name] as (...args: unknown[]) => Promise<unknown>
    return ((...args: unknown[]) => around(name, String(args[pathIndex]), () => call(...args))) as FileCalls[K]
  }

  const open = (async (...args: Parameters<FileCalls['open']>) =>
    recordHandle(
      await around('open', String(args[0]), () => nodeFileCalls.open(...args)),
      String(args[0]),
    )) as FileCalls['open']

  return {
    log,
    files: {
      open,
      chmod: record('chmod', 0),
      link: record('link', 1),
      rename: record('rename', 1),
      lstat: record('lstat', 0),
      mkdir: record('mkdir', 0),
      opendir: record('opendir', 0),
      realpath: record('realpath', 0),
      rmdir: record('rmdir', 0),
      unlink: record('unlink', 0),
    },
  }
}

/** An error as the system's calls throw it. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: scripted`), { code, syscall: 'scripted', errno: -1 })
}

/** The arguments of a `writev` that takes at most so many bytes. */
function limitWrite([chunks, position]: unknown[], limit: number): unknown[] {
  return [[Buffer.concat(chunks as Uint8Array[]).subarray(0, limit)], position]
}
