import { dirname, join } from 'node:path'
import { KafkaBackupError } from '../errors.ts'
import { hasErrno } from './errno.ts'
import type { FileCalls } from './file-calls.ts'
import { createFolderSync, type FolderSync } from './folder-sync.ts'

/** The folders below a root. They are named relative to it, '' being the root itself. */
export interface Folders {
  /** The path of a folder for reading. Throws ENOENT or ENOTDIR where it is missing. */
  find(folder: string): Promise<string>
  /** The path of a folder that now exists and survives a crash. */
  prepare(folder: string): Promise<string>
  /** Forgets that a folder was prepared, after it turned out to be gone. */
  forget(folder: string): void
  /** Removes a folder and those above it as far as they are empty; the root stays. */
  removeEmpty(folder: string): Promise<void>
  sync: FolderSync
}

/**
 * The root may be reached through symbolic links, but nothing below it: an archive that was unpacked or tampered with
 * must not lead a reader, a writer or a removal to files elsewhere. The root is resolved once and then kept.
 */
export function createFolders(root: string, files: FileCalls): Folders {
  const sync = createFolderSync(files)
  const prepared = new Map<string, Promise<string>>()
  let realRoot: string | undefined

  const findRoot = async (): Promise<string> => {
    if (realRoot !== undefined) return realRoot
    realRoot = await resolveRoot(root, files)
    return realRoot
  }

  const find = async (folder: string): Promise<string> => {
    const base = await findRoot()
    if (folder === '') return base
    const path = join(base, folder)
    if ((await files.realpath(path)) !== path) {
      throw new KafkaBackupError(
        'LOCATION_INVALID',
        `the folder ${JSON.stringify(folder)} in ${root} leads elsewhere: symbolic links below the location are not followed`,
        { help: 'Put the folder itself in the place of the link, or give the folder it leads to as the location.' },
      )
    }
    return path
  }

  const makeRoot = async (): Promise<string> => {
    await makeTree(root, files, sync)
    return findRoot()
  }

  const make = async (folder: string): Promise<string> => {
    if (folder === '') return makeRoot()
    const parent = await prepare(parentOf(folder))
    try {
      await files.mkdir(join(parent, baseOf(folder)))
    } catch (error) {
      if (!hasErrno(error, 'EEXIST')) throw error
    }
    const path = await find(folder)
    // Also for a folder that was there: the process that made it may have died before it made it durable.
    await sync(parent)
    return path
  }

  const prepare = (folder: string): Promise<string> => {
    let path = prepared.get(folder)
    if (path === undefined) {
      path = make(folder).catch(error => {
        prepared.delete(folder)
        throw error
      })
      prepared.set(folder, path)
    }
    return path
  }

  const forget = (folder: string): void => {
    prepared.delete(folder)
    if (folder !== '') forget(parentOf(folder))
  }

  const removeEmpty = async (folder: string): Promise<void> => {
    for (let rest = folder; rest !== ''; rest = parentOf(rest)) {
      try {
        await files.rmdir(join(await findRoot(), rest))
      } catch {
        return
      }
      prepared.delete(rest)
    }
  }

  return { find, prepare, forget, removeEmpty, sync }
}

export function parentOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf('/')))
}

export function baseOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1)
}

async function resolveRoot(root: string, files: FileCalls): Promise<string> {
  try {
    const path = await files.realpath(root)
    if ((await files.lstat(path)).isDirectory()) return path
  } catch (error) {
    if (!hasErrno(error, 'ENOTDIR')) throw error
  }
  throw notAFolder(root)
}

/** Makes the root with what is missing above it, durably. */
async function makeTree(root: string, files: FileCalls, sync: FolderSync): Promise<void> {
  const highestMade = await files.mkdir(root, { recursive: true }).catch(error => {
    throw hasErrno(error, 'EEXIST', 'ENOTDIR') ? notAFolder(root) : error
  })
  if (highestMade === undefined) return
  for (let folder = root; ; folder = dirname(folder)) {
    await sync(dirname(folder))
    if (folder === highestMade || folder === dirname(folder)) return
  }
}

function notAFolder(root: string): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', `the location ${root} is not a folder`)
}
