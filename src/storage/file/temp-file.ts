import { randomBytes } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { KafkaBackupError } from '../../errors.ts'
import { unfinishedPrefix } from '../../lib/object-key.ts'
import { hasErrno } from './errno.ts'
import type { FileCalls } from './file-calls.ts'
import { baseOf, type Folders, parentOf } from './folders.ts'

/**
 * A file under a name that is never listed, in the folder of the object. It is written, sealed, then published under its
 * key in one atomic step.
 */
export interface TempFile {
  write(chunks: readonly Uint8Array[], signal: AbortSignal): Promise<void>
  /** Makes the content durable. Never retried: after a failed fsync the system may have dropped the pages. */
  seal(): Promise<void>
  /** Publishes the content under its name; throws EEXIST if the name is taken. */
  link(): Promise<void>
  /** Publishes the content under its name and replaces what had it. */
  rename(): Promise<void>
  /** Makes the name durable. */
  syncName(): Promise<void>
  /** Closes and removes the file. Never fails. */
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
 * Flushes to disk now and then while more is being written. Otherwise the system keeps everything in memory until the
 * file is sealed, and sealing takes as long as writing the entire file.
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
    // Kept for `seal`: a later flush would succeed although the system has dropped the pages of this one.
    idle: async () => {
      await running
      if (failure) throw failure.error
    },
  }
}

/** Far more attempts than concurrent removals can spoil, but not endless if the system denies a folder it just created. */
const maxOpenAttempts = 50

/** A folder may vanish after it was prepared, when the last object in it is removed; then it is created again. */
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

/** Writes the chunks without copying them. The system may accept fewer bytes than given; the rest follows. */
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

function skipBytes(chunks: readonly Uint8Array[], count: number): Uint8Array[] {
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
 * `link` is the only call that creates a name only if it is free and shows the complete content at once. Without hard
 * links there is no correct way: reserving the name first would show an empty object, and a copy would show a growing one.
 *
 * A file server that repeats a call after a lost response reports EEXIST for its own success; the inode shows that.
 */
async function linkNew(path: string, finalPath: string, files: FileCalls): Promise<void> {
  try {
    await files.link(path, finalPath)
  } catch (error) {
    if (hasErrno(error, 'EEXIST') && (await isSameFile(path, finalPath, files))) return
    if (!hasErrno(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) throw error
    throw new KafkaBackupError('LOCATION_INVALID', `the file system of ${finalPath} does not support hard links`, {
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
