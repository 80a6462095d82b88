import { constants } from 'node:fs'
import { access, lstat, mkdtemp, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { toKafkaBackupError } from '../errors.ts'
import type { StorageOptions } from './location.ts'
import { assertWriteOnce } from './probe.ts'
import type { Storage } from './storage.ts'

export interface AccessCheck {
  action: 'read' | 'write'
  allowed: boolean
  detail: string
}

/** A place where things can be kept, and how it is opened. */
export interface Place {
  options: StorageOptions
  storage: Storage
}

/**
 * What the process may do at the location. It is tried: at a folder with an empty folder that is removed at once, in a
 * bucket with the one small object of the probe.
 */
export function checkAccess({ options, storage }: Place, signal: AbortSignal): Promise<AccessCheck[]> {
  return options.backend !== 'filesystem' ? checkBucket(storage, signal) : checkFolder(rootOf(options))
}

export async function locationExists({ options, storage }: Place, signal: AbortSignal): Promise<boolean> {
  if (options.backend === 'filesystem') return may(rootOf(options), constants.F_OK)
  for await (const _ of storage.list('', signal)) return true
  return options.prefix === undefined
}

/** Before anything is written. Folders need no probe: a hard link never replaces. */
export async function assertFit({ options, storage }: Place, signal: AbortSignal): Promise<void> {
  if (options.backend !== 'filesystem') await assertWriteOnce(storage, signal)
}

async function checkBucket(storage: Storage, signal: AbortSignal): Promise<AccessCheck[]> {
  const attempt = async (action: AccessCheck['action'], work: () => Promise<string>): Promise<AccessCheck> => {
    try {
      return { action, allowed: true, detail: await work() }
    } catch (error) {
      if (signal.aborted) throw error
      const { message, help } = toKafkaBackupError(error)
      return { action, allowed: false, detail: `${message}. ${help}` }
    }
  }
  const read = await attempt('read', async () => {
    for await (const _ of storage.list('', signal)) return 'the bucket can be listed'
    return 'the bucket can be listed, and nothing is there yet'
  })
  if (!read.allowed) return [read]
  const write = await attempt('write', async () => {
    await assertWriteOnce(storage, signal)
    return 'an object is created only where none is'
  })
  return [read, write]
}

/** An empty folder is made and removed: what the system says of permissions is not true of every file system. */
async function checkFolder(root: string): Promise<AccessCheck[]> {
  const existing = await nearestExisting(root)
  const wrong = await whyNoFolder(existing)
  if (wrong !== undefined) {
    const detail = `${wrong}. Give another folder as the location, or put one there`
    return [{ action: 'read', allowed: false, detail }]
  }
  const canRead = await may(existing, constants.R_OK | constants.X_OK)
  const refusal = await refusalToWrite(existing)
  const created = existing === root ? '' : ` (${root} will be created in it)`
  return [
    { action: 'read', allowed: canRead, detail: canRead ? existing : `${existing} cannot be read` },
    { action: 'write', allowed: refusal === undefined, detail: refusal ?? `${existing}${created}` },
  ]
}

async function whyNoFolder(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return `${path} is a symbolic link to a folder that does not exist`
  return found.isDirectory() ? undefined : `${path} is a file, not a folder`
}

async function refusalToWrite(folder: string): Promise<string | undefined> {
  try {
    await rmdir(await mkdtemp(join(folder, '.kafka-backup-check-')))
    return undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    // The parent is there: a file system such as /proc makes no folders.
    if (code === 'ENOENT') return `no folder can be created in ${folder}: its file system takes none`
    return `${folder} is not writable (${code})`
  }
}

function rootOf({ path, prefix }: { path: string; prefix?: string }): string {
  return join(path, prefix ?? '')
}

async function nearestExisting(path: string): Promise<string> {
  const parent = dirname(path)
  return parent === path || (await isThere(path)) ? path : nearestExisting(parent)
}

/** Also where it is a link that leads nowhere. */
function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

function may(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}
