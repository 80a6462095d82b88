import { randomBytes } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { KafkaBackupError } from '../../errors.ts'
import { unfinishedPrefix } from '../key.ts'
import { hasErrno } from './errno.ts'
import type { FileCalls } from './file-calls.ts'
import { baseOf, type Folders, parentOf } from './folders.ts'

/**
 * A file under a name that is never listed, in the folder where its content is to appear. It is written, sealed, then
 * published under its key in one step that no reader can see half done.
 */
export interface TempFile {
  write(chunks: readonly Uint8Array[], signal: AbortSignal): Promise<void>
  /** Makes the content durable. It is not tried twice: after a failed fsync the system may have dropped the pages. */
  seal(): Promise<void>
  /** Gives the content its name where that is free; throws EEXIST where it is not. */
  link(): Promise<void>
  /** Gives the content its name, whatever had it. */
  rename(): Promise<void>
  /** Makes the name durable. */
  syncName(): Promise<void>
  /** Closes and removes what is left. Never fails. */
  discard(): Promise<void>
}

export async function openTempFile(
  key: string,
  folders: Folders,
  files: FileCalls,
  gate: FlushGate = { isBusy: false },
): Promise<TempFile> {
  const { folder, path, handle } = await openUnfinished(parentOf(key), folders, files)
  const finalPath = join(folder, baseOf(key))
  const flusher = createFlusher(handle, gate)
  let position = 0

  return {
    async write(chunks, signal) {
      position = await writeAll(handle, chunks, position, signal)
      flusher.wrote(position)
    },
    async seal() {
      await flusher.idle()
      await handle.datasync()
      await handle.close()
    },
    async link() {
      await linkNew(path, finalPath, files)
      await files.unlink(path).catch(() => {})
    },
    async rename() {
      await files.rename(path, finalPath)
    },
    async syncName() {
      await folders.sync(folder)
    },
    async discard() {
      await flusher.idle().catch(() => {})
      await handle.close().catch(() => {})
      await files.unlink(path).catch(() => {})
    },
  }
}

/** Lets one file at a time be flushed: each flush holds a thread that others need for writing. */
export interface FlushGate {
  isBusy: boolean
}

const flushBytes = 16 << 20

/**
 * Sends what was written on to the disk now and then, while more is being written: otherwise the system keeps it all in
 * memory until the file is sealed, and that then takes as long as the disk needs for the whole of it.
 */
function createFlusher(handle: FileHandle, gate: FlushGate): { wrote(position: number): void; idle(): Promise<void> } {
  let flushed = 0
  let failure: { error: unknown } | undefined
  let running: Promise<void> = Promise.resolve()
  return {
    wrote: position => {
      if (gate.isBusy || failure || position - flushed < flushBytes) return
      flushed = position
      gate.isBusy = true
      running = handle
        .datasync()
        .catch(error => {
          failure = { error }
        })
        .finally(() => {
          gate.isBusy = false
        })
    },
    // Kept for whoever seals the file: a later flush would succeed although the system has dropped what this one held.
    idle: async () => {
      await running
      if (failure) throw failure.error
    },
  }
}

/** Far more than removals beside it can spoil, and still an end where the system denies a folder it has just made. */
const maxOpenAttempts = 50

/** A folder may vanish after it was prepared, when the last object in it is removed: then it is made again. */
async function openUnfinished(
  folder: string,
  folders: Folders,
  files: FileCalls,
): Promise<{ folder: string; path: string; handle: FileHandle }> {
  for (let attempt = 1; ; attempt++) {
    try {
      const folderPath = await folders.prepare(folder)
      const path = join(folderPath, `${unfinishedPrefix}${randomBytes(12).toString('hex')}`)
      const handle = await files.open(path, 'wx', folders.modes.file)
      if (folders.modes.isExplicit) await handle.chmod(folders.modes.file)
      return { folder: folderPath, path, handle }
    } catch (error) {
      if (!hasErrno(error, 'ENOENT') || attempt === maxOpenAttempts) throw error
      folders.forget(folder)
    }
  }
}

/** Writes the chunks from their own memory. The system may take fewer bytes than it was given; the rest follows. */
async function writeAll(
  handle: FileHandle,
  chunks: readonly Uint8Array[],
  start: number,
  signal: AbortSignal,
): Promise<number> {
  let position = start
  let rest = chunks.filter(chunk => chunk.length > 0)
  while (rest.length > 0) {
    signal.throwIfAborted()
    const { bytesWritten } = await handle.writev(rest, position)
    position += bytesWritten
    rest = skipBytes(rest, bytesWritten)
  }
  return position
}

export function skipBytes(chunks: readonly Uint8Array[], count: number): Uint8Array[] {
  let left = count
  let index = 0
  for (const chunk of chunks) {
    if (chunk.length > left) break
    left -= chunk.length
    index++
  }
  const rest = chunks.slice(index)
  const first = rest[0]
  if (first !== undefined && left > 0) rest[0] = first.subarray(left)
  return rest
}

/**
 * `link` is the one call that creates a name only where it is free and shows the whole content at once. Where a file
 * system has no hard links there is no right way to do it: reserving the name first would show an empty object, and a
 * copy would show a growing one.
 *
 * A file server that repeats a call whose answer was lost says EEXIST to its own success; the inode tells.
 */
async function linkNew(path: string, finalPath: string, files: FileCalls): Promise<void> {
  try {
    await files.link(path, finalPath)
  } catch (error) {
    if (hasErrno(error, 'EEXIST') && (await isSameFile(path, finalPath, files))) return
    if (!hasErrno(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) throw error
    throw new KafkaBackupError('LOCATION_INVALID', `the file system of ${finalPath} does not offer hard links`, {
      cause: error,
      help: 'Write-once objects need them: use a local POSIX file system or NFS, not FAT, exFAT or such a FUSE mount.',
    })
  }
}

async function isSameFile(path: string, otherPath: string, files: FileCalls): Promise<boolean> {
  try {
    const [one, other] = await Promise.all([
      files.lstat(path, { bigint: true }),
      files.lstat(otherPath, { bigint: true }),
    ])
    return one.ino === other.ino && one.dev === other.dev
  } catch {
    return false
  }
}
