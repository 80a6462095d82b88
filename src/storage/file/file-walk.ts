import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import { isKey } from '../../lib/object-key.ts'
import type { StoredObject } from '../storage.ts'
import { hasErrno } from './errno.ts'
import type { FileCalls } from './file-calls.ts'

/** Number of parallel stat calls: enough to hide the latency of a file server. */
const batchSize = 64

/**
 * The objects below a folder, read on demand. Skips symbolic links, devices, names that are not keys (such as unfinished
 * files) and files that vanish during the walk.
 */
export async function* walkObjects(
  path: string,
  folder: string,
  files: FileCalls,
  signal: AbortSignal,
): AsyncGenerator<StoredObject> {
  let batch: string[] = []
  for await (const entry of readFolder(path, files, signal)) {
    const key = keyIn(folder, entry.name)
    if (!isKey(key)) continue
    if (entry.isDirectory()) yield* walkObjects(join(path, entry.name), key, files, signal)
    else if (entry.isFile()) batch.push(entry.name)
    if (batch.length === batchSize) {
      yield* await statBatch(path, folder, batch, files)
      batch = []
    }
  }
  yield* await statBatch(path, folder, batch, files)
}

/** The names of the folders directly in a folder. */
export async function* walkFolders(
  path: string,
  folder: string,
  files: FileCalls,
  signal: AbortSignal,
): AsyncGenerator<string> {
  for await (const entry of readFolder(path, files, signal)) {
    if (entry.isDirectory() && isKey(keyIn(folder, entry.name))) yield entry.name
  }
}

async function* readFolder(path: string, files: FileCalls, signal: AbortSignal): AsyncGenerator<Dirent> {
  try {
    for await (const entry of await files.opendir(path, { bufferSize: 256 })) {
      signal.throwIfAborted()
      yield entry
    }
  } catch (error) {
    if (!hasErrno(error, 'ENOENT', 'ENOTDIR')) throw error
  }
}

async function statBatch(
  path: string,
  folder: string,
  names: readonly string[],
  files: FileCalls,
): Promise<StoredObject[]> {
  const objects: StoredObject[] = []
  await Promise.all(
    names.map(async name => {
      try {
        const { size, mtimeMs } = await files.lstat(join(path, name))
        objects.push({ key: keyIn(folder, name), size, modifiedMs: Math.floor(mtimeMs) })
      } catch (error) {
        if (!hasErrno(error, 'ENOENT')) throw error
      }
    }),
  )
  return objects
}

function keyIn(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}
