import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { hashOf } from './hash.ts'
import { manifestKey, manifestsPrefix, parseGeneration } from './layout.ts'
import { type IndexRef, type Manifest, type PartitionIndex, parseManifest, parsePartitionIndex } from './manifest.ts'

/** The ids of all backups at the location, in the order of their names. */
export async function listBackupIds(storage: Storage, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = []
  for await (const folder of storage.listFolders('', signal)) {
    if ((await listGenerations(storage, folder, signal)).length > 0) ids.push(folder)
  }
  return ids.sort()
}

/** Committed generations, oldest first. */
export async function listGenerations(storage: Storage, backupId: string, signal: AbortSignal): Promise<number[]> {
  const generations: number[] = []
  for await (const { key } of storage.list(manifestsPrefix(backupId), signal)) {
    const generation = parseGeneration(key)
    if (generation !== undefined) generations.push(generation)
  }
  return generations.sort((a, b) => a - b)
}

/** The newest committed state; undefined where there is none yet. */
export async function latestManifest(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<Manifest | undefined> {
  const generation = (await listGenerations(storage, backupId, signal)).at(-1)
  return generation === undefined ? undefined : readManifest(storage, backupId, generation, signal)
}

/** Like `latestManifest`, for a backup that must be there. */
export async function openBackup(storage: Storage, backupId: string, signal: AbortSignal): Promise<Manifest> {
  const manifest = await latestManifest(storage, backupId, signal)
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
  return new KafkaBackupError('BACKUP_NOT_FOUND', `no backup \`${backupId}\` at ${storage.location}; ${there}`)
}

export async function readManifest(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<Manifest> {
  const key = manifestKey(backupId, generation)
  const manifest = parseManifest(await storage.read(key, signal), key)
  if (manifest.backup_id === backupId && manifest.generation === generation) return manifest
  throw new KafkaBackupError(
    'ARCHIVE_DAMAGED',
    `${key} belongs to generation ${manifest.generation} of backup \`${manifest.backup_id}\``,
  )
}

/** The index as the manifest vouches for it: one that is gone, or has other bytes, is damage. */
export async function readIndex(storage: Storage, ref: IndexRef, signal: AbortSignal): Promise<PartitionIndex> {
  let bytes: Buffer
  try {
    bytes = await storage.read(ref.key, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_NOT_FOUND')) throw error
    throw new KafkaBackupError('ARCHIVE_DAMAGED', `${ref.key} is missing`, { cause: error })
  }
  if (bytes.length !== ref.size || hashOf(bytes) !== ref.blake3) {
    throw new KafkaBackupError('ARCHIVE_DAMAGED', `${ref.key} is not the object that the manifest recorded`)
  }
  return parsePartitionIndex(bytes.toString('utf8'), ref.key)
}
