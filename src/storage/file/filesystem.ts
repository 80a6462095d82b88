import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { KafkaBackupError } from '../../errors.ts'
import { takeMemory } from '../../lib/recycled-memory.ts'
import { assertKey, parsePrefix } from '../key.ts'
import { refuseLargeRead, refuseLargeWrite } from '../object-limits.ts'
import type { ObjectWriter, Storage, StoredObject } from '../storage.ts'
import { hasErrno, mapErrno } from './errno.ts'
import { type FileCalls, nodeFileCalls } from './file-calls.ts'
import { walkFolders, walkObjects } from './file-walk.ts'
import { FileWriter } from './file-writer.ts'
import { baseOf, type FileModes, Folders, fileModes, parentOf } from './folders.ts'
import { type FlushGate, openTempFile } from './temp-file.ts'

export interface FilesystemOptions {
  path: string
  /** A folder below the path; all keys are relative to it. */
  prefix?: string
  /** Permissions of files in octal digits, such as 0640; those of folders follow. Default: owner only. */
  fileMode?: string
}

/** Objects as files below a folder, which the first write creates. docs/storage.md lists the requirements of the file system. */
export function openFilesystemStorage(options: FilesystemOptions, files: FileCalls = nodeFileCalls): Storage {
  const root = join(resolve(options.path), parsePrefix(options.prefix ?? ''))
  return new FilesystemStorage(root, fileModes(options.fileMode), files)
}

class FilesystemStorage implements Storage {
  readonly location: string
  readonly writerBytes = 0
  readonly #files: FileCalls
  readonly #flushGate: FlushGate = { isBusy: false }
  readonly #folders: Folders
  readonly #writers = new Set<ObjectWriter>()

  constructor(root: string, modes: FileModes, files: FileCalls) {
    this.location = root
    this.#files = files
    this.#folders = new Folders(root, modes, files)
  }

  async create(key: string, body: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.#attempt('create', key, signal, async () => {
      refuseLargeWrite(key, body.length, this.location)
      const writer = new FileWriter(await openTempFile(key, this.#folders, this.#files), () => {})
      try {
        await writer.write([body], signal)
        await writer.commit(signal)
      } finally {
        await writer.abort()
      }
    })
  }

  async replace(key: string, body: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.#attempt('replace', key, signal, async () => {
      refuseLargeWrite(key, body.length, this.location)
      const file = await openTempFile(key, this.#folders, this.#files)
      try {
        await file.write([body], signal)
        await file.seal()
        signal.throwIfAborted()
        await file.rename()
      } catch (error) {
        await file.discard()
        throw error
      }
      await file.syncName()
    })
  }

  async openWriter(key: string, signal: AbortSignal): Promise<ObjectWriter> {
    return this.#attempt('create', key, signal, async () => {
      const file = await openTempFile(key, this.#folders, this.#files, this.#flushGate)
      const inner = new FileWriter(file, () => this.#writers.delete(writer))
      const writer: ObjectWriter = {
        get isSpent() {
          return inner.isSpent
        },
        write: (chunks, signal) => this.#mapped('write', key, () => inner.write(chunks, signal)),
        commit: signal => this.#mapped('commit', key, () => inner.commit(signal)),
        abort: () => inner.abort(),
      }
      this.#writers.add(writer)
      return writer
    })
  }

  async read(key: string, signal: AbortSignal): Promise<Buffer> {
    return this.#read(key, signal, size => {
      refuseLargeRead(key, size, this.location)
      return { start: 0, length: size }
    })
  }

  async readRange(key: string, start: number, length: number, signal: AbortSignal): Promise<Buffer> {
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(length) || start < 0 || length < 0) {
      throw new KafkaBackupError('INTERNAL', `invalid range: ${length} bytes from ${start} of ${JSON.stringify(key)}`)
    }
    return this.#read(key, signal, () => ({ start, length }))
  }

  async stat(key: string, signal: AbortSignal): Promise<StoredObject | undefined> {
    return this.#attempt('stat', key, signal, async () => {
      try {
        const stats = await this.#files.lstat(await this.#find(key))
        return stats.isFile() ? { key, size: stats.size, modifiedMs: Math.floor(stats.mtimeMs) } : undefined
      } catch (error) {
        if (isMissing(error)) return undefined
        throw error
      }
    })
  }

  list(prefix: string, signal: AbortSignal): AsyncIterable<StoredObject> {
    return this.#walk(prefix, signal, (path, folder) => walkObjects(path, folder, this.#files, signal))
  }

  listFolders(prefix: string, signal: AbortSignal): AsyncIterable<string> {
    return this.#walk(prefix, signal, (path, folder) => walkFolders(path, folder, this.#files, signal))
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    await this.#attempt('remove', key, signal, async () => {
      try {
        await this.#files.unlink(await this.#find(key))
      } catch (error) {
        if (!isMissing(error) && !hasErrno(error, 'EISDIR')) throw error
      }
      await this.#folders.removeEmpty(parentOf(key))
    })
  }

  async close(): Promise<void> {
    await Promise.all([...this.#writers].map(writer => writer.abort()))
  }

  async #read(
    key: string,
    signal: AbortSignal,
    rangeOf: (size: number) => { start: number; length: number },
  ): Promise<Buffer> {
    return this.#attempt('read', key, signal, async () => {
      try {
        const body = await readFile(await this.#find(key), this.#files, async (handle, size) => {
          const { start, length } = rangeOf(size)
          if (start + length > size) throw this.#short(key, start + length, size)
          const bytes = await readBytes(handle, start, length, signal)
          if (bytes.length < length) throw this.#short(key, start + length, start + bytes.length)
          return bytes
        })
        if (body !== undefined) return body
      } catch (error) {
        if (!isMissing(error)) throw error
      }
      throw new KafkaBackupError('STORAGE_NOT_FOUND', `${JSON.stringify(key)} does not exist in ${this.location}`, {
        details: { key, location: this.location },
      })
    })
  }

  async *#walk<T>(
    prefix: string,
    signal: AbortSignal,
    walk: (path: string, folder: string) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    const folder = parsePrefix(prefix)
    signal.throwIfAborted()
    try {
      for await (const item of walk(await this.#folders.find(folder), folder)) {
        signal.throwIfAborted()
        yield item
      }
    } catch (error) {
      if (!isMissing(error)) throw this.#map(error, 'list', prefix)
    }
  }

  async #find(key: string): Promise<string> {
    return join(await this.#folders.find(parentOf(key)), baseOf(key))
  }

  async #attempt<T>(action: string, key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    assertKey(key)
    signal.throwIfAborted()
    return this.#mapped(action, key, work)
  }

  async #mapped<T>(action: string, key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw this.#map(error, action, key)
    }
  }

  #map(error: unknown, action: string, key: string): unknown {
    return mapErrno(error, { action, key, location: this.location })
  }

  #short(key: string, wanted: number, size: number): KafkaBackupError {
    const name = `${JSON.stringify(key)} in ${this.location}`
    return new KafkaBackupError('STORAGE_SHORT', `${name} ends at byte ${size}; ${wanted} bytes were expected`, {
      details: { key, location: this.location },
    })
  }
}

/** Below the root, which `Folders` ensures is a folder, a file instead of a folder means that the object does not exist. */
function isMissing(error: unknown): boolean {
  return hasErrno(error, 'ENOENT', 'ENOTDIR')
}

/** The signal is checked between pieces of this size. */
const pieceBytes = 16 * 1024 * 1024

/** Does not follow a link, and does not block on a pipe. */
const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Opens a regular file while `work` runs; undefined if it is not a regular file. */
async function readFile<T>(
  path: string,
  files: FileCalls,
  work: (handle: FileHandle, size: number) => Promise<T>,
): Promise<T | undefined> {
  const handle = await files.open(path, openFlags)
  try {
    const stats = await handle.stat()
    return stats.isFile() ? await work(handle, stats.size) : undefined
  } finally {
    await handle.close()
  }
}

/** Reads the range, or the part of it that exists. */
async function readBytes(handle: FileHandle, start: number, length: number, signal: AbortSignal): Promise<Buffer> {
  const buffer = takeMemory(length)
  let filled = 0
  while (filled < length) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, filled, Math.min(pieceBytes, length - filled), start + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
