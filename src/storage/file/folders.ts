import { dirname, join } from 'node:path'
import { KafkaBackupError } from '../../errors.ts'
import { hasErrno } from './errno.ts'
import type { FileCalls } from './file-calls.ts'

/**
 * The folders below a root, named relative to it, '' being the root itself.
 *
 * Symbolic links are followed to reach the root, but not below it: a manipulated archive must not lead a read, a write or a
 * removal to files elsewhere. The root is resolved once.
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

  /** The path of a folder for reading. Throws ENOENT or ENOTDIR if it is missing. */
  async find(folder: string): Promise<string> {
    this.#realRoot ??= await resolveRoot(this.#root, this.#files)
    const path = join(this.#realRoot, folder)
    if (folder === '' || (await this.#files.realpath(path)) === path) return path
    throw new KafkaBackupError(
      'LOCATION_INVALID',
      `the folder ${JSON.stringify(folder)} in ${this.#root} is a symbolic link, and links below the location are not followed`,
      { help: 'Replace the link with the folder itself, or use its target as the location.' },
    )
  }

  /** Creates the folder durably if it is missing, and returns its path. */
  prepare(folder: string): Promise<string> {
    let path = this.#prepared.get(folder)
    if (path === undefined) {
      path = this.#create(folder).catch(error => {
        this.#prepared.delete(folder)
        throw error
      })
      this.#prepared.set(folder, path)
    }
    return path
  }

  /** Forgets that a folder and those above it were prepared, because it no longer exists. */
  forget(folder: string): void {
    this.#prepared.delete(folder)
    if (folder !== '') this.forget(parentOf(folder))
  }

  /** Removes a folder and those above it while they are empty; the root stays. */
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

  async #create(folder: string): Promise<string> {
    if (folder === '') {
      await createTree(this.#root, this.modes, this.#files, this.sync)
      return this.find('').catch(error => {
        throw hasErrno(error, 'ENOENT') ? dangling(this.#root) : error
      })
    }
    const parent = await this.prepare(parentOf(folder))
    await createFolder(join(parent, baseOf(folder)), this.modes, this.#files)
    const path = await this.find(folder)
    // Also for an existing folder: the process that created it may have died before it was durable.
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
 * Creates the root and its missing parents durably. One level at a time: Node's recursive call never returns if the file
 * system fails with ENOENT although the parent exists, as /proc does.
 */
async function createTree(root: string, modes: FileModes, files: FileCalls, sync: FolderSync): Promise<void> {
  const missing: string[] = []
  for (let folder = root; !(await exists(folder, files)); folder = dirname(folder)) missing.unshift(folder)
  for (const folder of missing) {
    try {
      await createFolder(folder, modes, files)
    } catch (error) {
      throw hasErrno(error, 'ENOENT') ? await cannotCreate(root, dirname(folder), files) : error
    }
    await sync(dirname(folder))
  }
}

/** Leaves an existing folder unchanged. */
async function createFolder(path: string, modes: FileModes, files: FileCalls): Promise<void> {
  try {
    await files.mkdir(path, { mode: modes.folder })
  } catch (error) {
    if (hasErrno(error, 'EEXIST')) return
    throw error
  }
  if (modes.isExplicit) await files.chmod(path, modes.folder)
}

/** Does not follow a link. */
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

/** The parent exists, but no folder can be created in it. */
async function cannotCreate(root: string, parent: string, files: FileCalls): Promise<KafkaBackupError> {
  if ((await files.lstat(parent)).isSymbolicLink()) return dangling(parent)
  const message = `the location ${root} cannot be created: the file system of ${parent} does not allow creating folders`
  return new KafkaBackupError('LOCATION_INVALID', message)
}

function dangling(link: string): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', `${link} is a symbolic link to a folder that does not exist`, {
    help: 'Create or mount the target of the link, or use another location.',
  })
}

function notAFolder(root: string): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', `the location ${root} is not a folder`)
}

/** Permissions of created files and folders. By default only the owner may read records. */
export interface FileModes {
  file: number
  folder: number
  /** The job sets them, so they apply regardless of the umask. */
  isExplicit: boolean
}

const OWNER_ONLY = 0o600

export function fileModes(fileMode: string | undefined): FileModes {
  const file = fileMode === undefined ? OWNER_ONLY : Number.parseInt(fileMode, 8)
  // Anyone who may read a file may enter its folder.
  return { file, folder: file | ((file & 0o444) >> 2), isExplicit: fileMode !== undefined }
}

type FolderSync = (folder: string) => Promise<void>

/**
 * Makes the entries of a folder durable. Concurrent callers share an fsync that begins after their calls: one that is
 * already running may have missed their entries, so they share the next.
 */
export function createFolderSync(files: FileCalls): FolderSync {
  const running = new Map<string, Promise<void>>()
  const waiting = new Map<string, Promise<void>>()

  const begin = (folder: string): Promise<void> => {
    waiting.delete(folder)
    const sync = fsyncFolder(folder, files).finally(() => {
      if (running.get(folder) === sync) running.delete(folder)
    })
    running.set(folder, sync)
    return sync
  }

  return folder => {
    const current = running.get(folder)
    if (current === undefined) return begin(folder)
    let next = waiting.get(folder)
    if (next === undefined) {
      next = current.then(
        () => begin(folder),
        () => begin(folder),
      )
      waiting.set(folder, next)
    }
    return next
  }
}

/** File systems that keep no such state for folders (SMB, some FUSE) fail with EINVAL or ENOTSUP, which is ignored. */
async function fsyncFolder(folder: string, files: FileCalls): Promise<void> {
  const handle = await files.open(folder, 'r')
  try {
    await handle.sync()
  } catch (error) {
    if (!hasErrno(error, 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP')) throw error
  } finally {
    await handle.close()
  }
}
