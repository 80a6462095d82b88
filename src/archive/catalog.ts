import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import { assertManifestKeys } from './assert-keys.ts'
import { damaged } from './damage.ts'
import { manifestKey, manifestsPrefix, parseGeneration, prunedMarkKey } from './layout.ts'
import { manifestOf, writerManifestOf } from './log/as-manifest.ts'
import type { DecodeChange } from './log/change-document.ts'
import { commitNotFound, findNewestCommit, hasCommit, listCommits } from './log/list-commits.ts'
import type { LogBase } from './log/log-writer.ts'
import { isLogMarker } from './log/marker.ts'
import { type OpenedGeneration, openGeneration } from './log/open-generation.ts'
import { findLostMarker, kindOfNewest, type LostMarker } from './lost-marker.ts'
import { type Manifest, parseManifest } from './manifest.ts'

/** The ids of all backups at the location, in the order of their names, without expired ones. */
export async function listBackupIds(storage: Storage, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = []
  for await (const folder of storage.listFolders('', signal)) {
    const { manifests, mark } = await scanManifests(storage, folder, signal)
    if (!mark && (await isCommitted(storage, folder, manifests, signal))) ids.push(folder)
  }
  if (ids.length === 0) await refuseBackupFolder(storage, signal)
  return ids.sort()
}

/** What lies in `manifests/` of a backup. */
export interface ScannedManifests {
  /** By generation, oldest first. */
  manifests: ReadonlyMap<number, StoredObject>
  /** The mark of an expired backup, which is removed after its grace period. */
  mark: StoredObject | undefined
}

export async function scanManifests(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<ScannedManifests> {
  const found: [number, StoredObject][] = []
  let mark: StoredObject | undefined
  for await (const object of storage.list(manifestsPrefix(backupId), signal)) {
    const generation = parseGeneration(object.key)
    if (generation !== undefined) found.push([generation, object])
    if (object.key === prunedMarkKey(backupId)) mark = object
  }
  return { manifests: new Map(found.sort(([a], [b]) => a - b)), mark }
}

/** The number of the newest generation, of either version; undefined where nothing is committed. */
export async function newestNumber(
  storage: Storage,
  backupId: string,
  { manifests }: Pick<ScannedManifests, 'manifests'>,
  signal: AbortSignal,
): Promise<number | undefined> {
  const commit = await findNewestCommit(storage, backupId, signal)
  if (commit !== undefined) return commit
  const kind = await kindOfNewest(storage, manifests, signal)
  return [...manifests.keys()].at(kind === 'marker' ? -2 : -1)
}

/**
 * Whether generations behind those of `manifests/` are commits of version 2; the newest of these is then not a generation.
 * Fails where commits are there and the marker is lost.
 */
export async function hasMarker(
  storage: Storage,
  backupId: string,
  manifests: ScannedManifests['manifests'],
  signal: AbortSignal,
  known?: { commit: number | undefined },
): Promise<boolean> {
  if ((await kindOfNewest(storage, manifests, signal)) === 'marker') return true
  const lost = await findLostMarker(storage, backupId, manifests, signal, known)
  if (lost) throw lost.error
  return false
}

/** The marker that is lost, of a backup that is not expired. */
export async function lostMarkerOf(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<LostMarker | undefined> {
  const { manifests, mark } = await scanManifests(storage, backupId, signal)
  return mark ? undefined : findLostMarker(storage, backupId, manifests, signal)
}

/** False where a writer died before its first commit. What cannot be read is not taken for that. */
async function isCommitted(
  storage: Storage,
  backupId: string,
  manifests: ScannedManifests['manifests'],
  signal: AbortSignal,
): Promise<boolean> {
  if (manifests.size > 1) return true
  try {
    if (manifests.size === 1 && (await kindOfNewest(storage, manifests, signal)) !== 'marker') return true
    return (await findNewestCommit(storage, backupId, signal)) !== undefined
  } catch (error) {
    if (!(error instanceof KafkaBackupError) || signal.aborted) throw error
    const isThere = manifests.size > 0
    // A service that does not give its key now says nothing of the other backups.
    const isOfKey = hasCode(error, 'ENCRYPTION_KEY', 'KMS_UNREACHABLE', 'CREDENTIALS_UNREACHABLE')
    if (error.retryable && !(isThere && isOfKey)) throw error
    return isThere || error.code === 'STORAGE_DENIED'
  }
}

/** Committed generations, oldest first. Refuses an expired backup. */
export async function listGenerations(storage: Storage, backupId: string, signal: AbortSignal): Promise<number[]> {
  const { manifests, commits } = await scanGenerations(storage, backupId, signal)
  return [...manifests, ...commits]
}

/** Generations by the version of their format, each oldest first. Those of version 2 come after those of version 1. */
export interface ScannedGenerations {
  manifests: number[]
  commits: number[]
}

/** With a `count`, at least that many of the newest ones. Refuses an expired backup. */
export async function scanGenerations(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
  count?: number,
): Promise<ScannedGenerations> {
  const { manifests, mark } = await scanManifests(storage, backupId, signal)
  if (mark) throw expiredBackup(storage, backupId)
  const generations = [...manifests.keys()]
  // Also behind a manifest: the marker may be lost.
  const commits = await listCommits(storage, backupId, signal, count)
  const kind = await kindOfNewest(storage, manifests, signal, { readsLarge: commits.length > 0 })
  const isLog = kind === 'marker' || (kind !== 'manifest' && commits.length > 0)
  return { manifests: isLog ? generations.slice(0, -1) : generations, commits }
}

/** The newest committed state. The partitions of one of version 2 do not name their segments: a writer does not need them. */
export interface NewestState extends LogBase {
  /** The next generation is one of version 2. */
  isLog: boolean
}

/** The newest committed state for one who continues it in the version that it has. Refuses an expired backup, and commits without their marker. */
export function newestState(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
  decode?: DecodeChange,
): Promise<NewestState> {
  return readNewest(storage, backupId, writerManifestOf, signal, decode)
}

async function readNewest(
  storage: Storage,
  backupId: string,
  asManifest: (opened: OpenedGeneration) => Manifest,
  signal: AbortSignal,
  decode?: DecodeChange,
): Promise<NewestState> {
  // At the same time: a store may be far away, and both are needed whatever the other says.
  const [{ manifests, mark }, commit] = await Promise.all([
    scanManifests(storage, backupId, signal),
    findNewestCommit(storage, backupId, signal),
  ])
  if (mark) throw expiredBackup(storage, backupId)
  const [newest, before] = [...manifests.keys()].reverse()
  if (!(await hasMarker(storage, backupId, manifests, signal, { commit }))) {
    const manifest = newest === undefined ? undefined : await readManifest(storage, backupId, newest, signal)
    return { manifest, isLog: false }
  }
  if (commit !== undefined) {
    const opened = await openGeneration(storage, backupId, commit, signal, decode)
    return { manifest: asManifest(opened), opened, isLog: true }
  }
  // The writer that began with version 2 has not committed anything: the state is still that of version 1.
  const manifest = before === undefined ? undefined : await readManifest(storage, backupId, before, signal)
  return { manifest, isLog: true }
}

async function openNewest(storage: Storage, backupId: string, signal: AbortSignal): Promise<Manifest | undefined> {
  return (await readNewest(storage, backupId, opened => manifestOf(storage, opened), signal)).manifest
}

async function readLog(storage: Storage, backupId: string, generation: number, signal: AbortSignal): Promise<Manifest> {
  return manifestOf(storage, await openGeneration(storage, backupId, generation, signal))
}

export function expiredBackup({ location }: Storage, backupId: string): KafkaBackupError {
  const message = `backup \`${backupId}\` at ${location} was marked as expired by \`prune\` and will be removed`
  const help = `\`kafka-backup prune --path … --keep ${backupId}\` keeps it, as long as its grace period lasts.`
  return new KafkaBackupError('BACKUP_PRUNED', message, { help, details: { backup_id: backupId, location } })
}

/** The newest committed state of a backup that must be there, for a reader. */
export async function openBackup(storage: Storage, backupId: string, signal: AbortSignal): Promise<Manifest> {
  const manifest = await openNewest(storage, backupId, signal)
  if (manifest) return manifest
  throw await backupNotFound(storage, backupId, signal)
}

/** With the backups that are there instead. */
export async function backupNotFound(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<KafkaBackupError> {
  const ids = await listBackupIds(storage, signal)
  const there = ids.length === 0 ? 'there are no backups there' : `there are: ${ids.slice(0, 20).join(', ')}`
  return new KafkaBackupError('BACKUP_NOT_FOUND', `no backup \`${backupId}\` at ${storage.location}; ${there}`, {
    details: { backup_id: backupId, location: storage.location },
  })
}

/** A generation of version 1; ARCHIVE_TOO_NEW for the first one of version 2. */
export async function readManifest(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<Manifest> {
  return parseOwnManifest(await storage.read(manifestKey(backupId, generation), signal), backupId, generation)
}

/** A generation of either version, for a reader. */
export async function readGeneration(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<Manifest> {
  let problem: unknown
  try {
    const bytes = await storage.read(manifestKey(backupId, generation), signal)
    if (!isLogMarker(bytes)) return parseOwnManifest(bytes, backupId, generation)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_NOT_FOUND', 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    problem = error
  }
  // It has its number in version 2, also if the marker in the place of its manifest is damaged.
  if (await hasCommit(storage, backupId, generation, signal)) return readLog(storage, backupId, generation, signal)
  // A marker alone is not a generation.
  throw problem ?? commitNotFound(storage, backupId, generation)
}

function parseOwnManifest(bytes: Buffer, backupId: string, generation: number): Manifest {
  const key = manifestKey(backupId, generation)
  const manifest = parseManifest(bytes, key)
  if (manifest.backup_id === backupId && manifest.generation === generation) {
    assertManifestKeys(manifest, key)
    return manifest
  }
  throw damaged(key, `belongs to generation ${manifest.generation} of backup \`${manifest.backup_id}\``)
}

/** Fails where the location is the folder of one backup, in which no backups are: the folder above it is meant. */
export async function refuseBackupFolder(storage: Storage, signal: AbortSignal): Promise<void> {
  for await (const { key } of storage.list('manifests/', signal)) {
    if (parseGeneration(`/${key}`) === undefined) continue
    const [, above = '', id = '', query = ''] = /^(.*?)\/+([^/?]+)\/*(\?.*)?$/.exec(storage.location) ?? []
    throw new KafkaBackupError(
      'LOCATION_INVALID',
      `${storage.location} is the folder of one backup, not a location of backups`,
      {
        help: `Give ${above}${query} as the location (--path or storage), and ${id} as the backup id.`,
      },
    )
  }
}
