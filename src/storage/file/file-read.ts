import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { FileCalls } from './file-calls.ts'

/** The signal is looked at between pieces of this size. */
const pieceBytes = 16 * 1024 * 1024

/** A link is not followed, and a pipe in the place of an object does not block. */
const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Opens a regular file for the time of the work; undefined where the name belongs to something else. */
export async function readFile<T>(
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

/** Reads the range, or what there is of it where the file ends before. */
export async function readBytes(
  handle: FileHandle,
  start: number,
  length: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(length)
  let filled = 0
  while (filled < length) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, filled, Math.min(pieceBytes, length - filled), start + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
