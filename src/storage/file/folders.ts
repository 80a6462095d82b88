import { dirname, join } from 'node:path'
import { KafkaBackupError } from '../../errors.ts'
import { hasErrno } from './errno.ts'
import type { FileCalls } from './file-calls.ts'
import type { FileModes } from './file-modes.ts'
import { createFolderSync, type FolderSync } from './folder-sync.ts'

/**
 * The folders below a root, named relative to it, '' being the root itself.
 *
 * The root may be reached through symbolic links, but nothing below it: an archive that was unpacked or tampered with
 * must not lead a reader, a writer or a removal to files elsewhere. The root is resolved once and then kept.
 */
export class Folders {
  /** Makes the entries of a folder, given by its path, durable. */
  readonly sync: FolderSync
  readonly modes: FileModes
  readonly #root: string
  readonly #files: FileCalls
  readonly #prepared = new Map<string, Promise<string>>()
  #realRoot: string | undefined

  constructor(root: string, modes: FileModes, files: FileCalls) {
    this.#root = root
    this.modes = modes
    this.#files = files
    this.sync = createFolderSync(files)
  }

  /** The path of a folder for reading. Throws ENOENT or ENOTDIR where it is missing. */
  async find(folder: string): Promise<string> {
    this.#realRoot ??= await resolveRoot(this.#root, this.#files)
    const path = join(this.#realRoot, folder)
    if (folder === '' || (await this.#files.realpath(path)) === path) return path
    throw new KafkaBackupError(
      'LOCATION_INVALID',
      `the folder ${JSON.stringify(folder)} in ${this.#root} leads elsewhere: symbolic links there are not followed`,
      { help: 'Put the folder itself in the place of the link, or give the folder it leads to as the location.' },
    )
  }

  /** The path of a folder that now exists and survives a crash. */
  prepare(folder: string): Promise<string> {
    let path = this.#prepared.get(folder)
    if (path === undefined) {
      path = this.#make(folder).catch(error => {
        this.#prepared.delete(folder)
        throw error
      })
      this.#prepared.set(folder, path)
    }
    return path
  }

  /** Forgets that a folder and those above it were prepared, after it turned out to be gone. */
  forget(folder: string): void {
    this.#prepared.delete(folder)
    if (folder !== '') this.forget(parentOf(folder))
  }

  /** Removes a folder and those above it as far as they are empty; the root stays. */
  async removeEmpty(folder: string): Promise<void> {
    for (let rest = folder; rest !== ''; rest = parentOf(rest)) {
      try {
        await this.#files.rmdir(await this.find(rest))
      } catch {
        return
      }
      this.#prepared.delete(rest)
    }
  }

  async #make(folder: string): Promise<string> {
    if (folder === '') {
      await makeTree(this.#root, this.modes, this.#files, this.sync)
      return this.find('').catch(error => {
        throw hasErrno(error, 'ENOENT') ? dangling(this.#root) : error
      })
    }
    const parent = await this.prepare(parentOf(folder))
    await makeFolder(join(parent, baseOf(folder)), this.modes, this.#files)
    const path = await this.find(folder)
    // Also for a folder that was there: the process that made it may have died before it made it durable.
    await this.sync(parent)
    return path
  }
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

/**
 * Makes the root with what is missing above it, durably. One level at a time: Node's recursive call never returns where a
 * file system refuses a folder with ENOENT although its parent is there, as /proc does.
 */
async function makeTree(root: string, modes: FileModes, files: FileCalls, sync: FolderSync): Promise<void> {
  const missing: string[] = []
  for (let folder = root; !(await exists(folder, files)); folder = dirname(folder)) missing.unshift(folder)
  for (const folder of missing) {
    try {
      await makeFolder(folder, modes, files)
    } catch (error) {
      throw hasErrno(error, 'ENOENT') ? await cannotHold(root, dirname(folder), files) : error
    }
    await sync(dirname(folder))
  }
}

/** One that is there is left as it is. */
async function makeFolder(path: string, modes: FileModes, files: FileCalls): Promise<void> {
  try {
    await files.mkdir(path, { mode: modes.folder })
  } catch (error) {
    if (hasErrno(error, 'EEXIST')) return
    throw error
  }
  if (modes.isExplicit) await files.chmod(path, modes.folder)
}

/** A link counts as it is, wherever it leads. */
async function exists(path: string, files: FileCalls): Promise<boolean> {
  try {
    await files.lstat(path)
    return true
  } catch (error) {
    if (hasErrno(error, 'ENOTDIR')) throw notAFolder(path)
    if (hasErrno(error, 'ENOENT')) return false
    throw error
  }
}

/** The parent is there, and yet no folder can be made in it. */
async function cannotHold(root: string, parent: string, files: FileCalls): Promise<KafkaBackupError> {
  if ((await files.lstat(parent)).isSymbolicLink()) return dangling(parent)
  const message = `the location ${root} cannot be created: the file system of ${parent} takes no folders`
  return new KafkaBackupError('LOCATION_INVALID', message)
}

function dangling(link: string): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', `${link} is a symbolic link to a folder that does not exist`, {
    help: 'Create the folder that the link leads to, or mount it; or give another location.',
  })
}

function notAFolder(root: string): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', `the location ${root} is not a folder`)
}
