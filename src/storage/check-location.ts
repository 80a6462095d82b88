import { constants } from 'node:fs'
import { access, lstat, mkdtemp, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { hasCode, KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import { formatUtc } from '../lib/clock.ts'
import type { StorageOptions } from './location.ts'
import type { Storage } from './storage.ts'

interface LocationCheck {
  action: 'read' | 'write'
  allowed: boolean
  detail: string
}

/** A storage and the options that opened it. */
export interface OpenedLocation {
  options: StorageOptions
  storage: Storage
}

/**
 * Checks by trying what the process may do at the location: in a folder by creating and removing an empty folder, in a
 * bucket by creating the probe object. With `isReadOnly`, nothing is created, and a folder has to exist.
 */
export function checkLocation(
  { options, storage }: OpenedLocation,
  signal: AbortSignal,
  isReadOnly = false,
): Promise<LocationCheck[]> {
  if (options.backend !== 'filesystem') return checkBucket(storage, isReadOnly, signal)
  return checkFolder(resolve(rootOf(options)), isReadOnly)
}

/** A location that is only listed. */
export interface ListedLocation extends Pick<OpenedLocation, 'options'> {
  storage: Pick<Storage, 'location' | 'list'>
}

export async function locationExists({ options, storage }: ListedLocation, signal: AbortSignal): Promise<boolean> {
  if (options.backend === 'filesystem') return may(rootOf(options), constants.F_OK)
  for await (const _ of storage.list('', signal)) return true
  return options.prefix === undefined
}

/** Call before writing. Folders need no probe: a hard link never replaces a file. */
export async function assertWriteOnceLocation(
  { options, storage }: OpenedLocation,
  signal: AbortSignal,
): Promise<void> {
  if (options.backend !== 'filesystem') await assertWriteOnce(storage, signal)
}

/**
 * A warning for one who writes many small objects and replaces them by larger ones; undefined where the store lets them be
 * removed. It is judged by the object of the probe, so `checkLocation` comes first.
 */
export async function findProtection(
  storage: Storage,
  nowMs: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { protectedUntilMs = 0 } = (await storage.stat(probeKey, signal).catch(() => undefined)) ?? {}
  signal.throwIfAborted()
  if (protectedUntilMs <= nowMs) return undefined
  const why = `${storage.location} protects objects from removal, ${probeKey} until ${formatUtc(protectedUntilMs)}`
  const effect =
    'a continuous backup merges small objects into larger ones, and those that it has merged stay until their protection ends'
  return `${why}: ${effect}. A longer backup.commit_interval writes fewer of them`
}

async function checkBucket(storage: Storage, isReadOnly: boolean, signal: AbortSignal): Promise<LocationCheck[]> {
  const attempt = async (action: LocationCheck['action'], work: () => Promise<string>): Promise<LocationCheck> => {
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
    return 'the bucket can be listed and is empty'
  })
  if (isReadOnly || !read.allowed) return [read]
  const write = await attempt('write', async () => {
    await assertWriteOnce(storage, signal)
    return 'existing objects are not replaced'
  })
  return [read, write]
}

/** Creates and removes an empty folder, because permission bits are not reliable on every file system. */
async function checkFolder(root: string, isReadOnly: boolean): Promise<LocationCheck[]> {
  const existing = await nearestExisting(root)
  const fault = await findFolderFault(existing)
  if (fault !== undefined) {
    const detail = `${fault}. Choose another folder as the location, or create it`
    return [{ action: 'read', allowed: false, detail }]
  }
  if (isReadOnly && existing !== root) {
    return [{ action: 'read', allowed: false, detail: `there is nothing at ${root}. Correct the location` }]
  }
  const canRead = await may(existing, constants.R_OK | constants.X_OK)
  const read = { action: 'read', allowed: canRead, detail: canRead ? existing : `${existing} cannot be read` } as const
  if (isReadOnly) return [read]
  const fix = existing === root ? 'Make it' : `Create ${root} and make it`
  const advice = `${fix} writable for the user of this process, or choose another location`
  const writeFault = await findWriteFault(existing, advice)
  const created = existing === root ? '' : ` (${root} will be created in it)`
  return [read, { action: 'write', allowed: writeFault === undefined, detail: writeFault ?? `${existing}${created}` }]
}

async function findFolderFault(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return `${path} is a symbolic link to a folder that does not exist`
  return found.isDirectory() ? undefined : `${path} is a file, not a folder`
}

async function findWriteFault(folder: string, advice: string): Promise<string | undefined> {
  try {
    await rmdir(await mkdtemp(join(folder, '.kafka-backup-check-')))
    return undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    // The parent exists: file systems such as /proc do not support creating folders.
    if (code === 'ENOENT') return `no folder can be created in ${folder}: its file system does not allow it`
    return `${folder} is not writable (${code}). ${advice}`
  }
}

function rootOf({ path, prefix }: { path: string; prefix?: string }): string {
  return join(path, prefix ?? '')
}

async function nearestExisting(path: string): Promise<string> {
  const parent = dirname(path)
  return parent === path || (await exists(path)) ? path : nearestExisting(parent)
}

/** A dangling link counts as existing. */
function exists(path: string): Promise<boolean> {
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

/** Always the same key, so probes do not pile up where objects cannot be removed. */
export const probeKey = '.kafka-backup-probe'

const text =
  'kafka-backup creates this object to check that the store never replaces an existing object. It may be removed.\n'

/**
 * Fails with STORAGE_UNFIT if the store replaces an object that was to be created only. Two runs of one backup would then
 * both commit, and one would be lost. Once the object exists, a probe costs one request and changes nothing.
 */
export async function assertWriteOnce(storage: Storage, signal: AbortSignal): Promise<void> {
  for (const version of ['1', '2']) {
    try {
      await storage.create(probeKey, Buffer.from(`${text}${version}\n`), signal)
    } catch (error) {
      if (hasCode(error, 'STORAGE_EXISTS')) return
      throw error
    }
  }
  throw new KafkaBackupError(
    'STORAGE_UNFIT',
    `${storage.location} replaces existing objects on a create-only request (it ignores \`If-None-Match: *\` or \`ifGenerationMatch=0\`)`,
  )
}
