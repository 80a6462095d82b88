import { assertManifestKeys } from '../archive/assert-keys.ts'
import { manifestCopyKey, manifestKey } from '../archive/layout.ts'
import { type Manifest, parseManifest } from '../archive/manifest.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { isSameGeneration } from './same-generation.ts'
import type { Sides } from './sides.ts'

export interface SourceManifest {
  manifest: Manifest
  key: string
  bytes: Buffer
}

/** ARCHIVE_DAMAGED where it is not what was written. */
export async function readSourceManifest(
  { source }: Sides,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<SourceManifest> {
  const key = manifestKey(backupId, generation)
  const bytes = await source.read(key, signal)
  const manifest = parseManifest(bytes, key)
  assertManifestKeys(manifest, key)
  return { manifest, key, bytes }
}

/** From here on the generation exists at the target. */
export async function commitManifest(
  { target, adaptManifest = same }: Sides,
  { key, bytes }: SourceManifest,
  signal: AbortSignal,
): Promise<void> {
  try {
    await target.create(key, adaptManifest(bytes), signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
    // Another copy may have brought the same.
    if (isSameGeneration(bytes, await target.read(key, signal))) return
    throw new KafkaBackupError('WRITER_CONFLICT', `another process has written ${key} at ${target.location}`, {
      cause: error,
    })
  }
}

/** For people; a copy that was killed before leaves an old one. */
export async function renewCopyOfManifest(
  target: Storage,
  backupId: string,
  newest: number,
  signal: AbortSignal,
): Promise<void> {
  const key = manifestCopyKey(backupId)
  const bytes = await target.read(manifestKey(backupId, newest), signal)
  if ((await readIfWhole(target, key, signal))?.equals(bytes)) return
  await target.replace(key, bytes, signal)
}

async function readIfWhole(storage: Storage, key: string, signal: AbortSignal): Promise<Buffer | undefined> {
  try {
    return await storage.read(key, signal)
  } catch (error) {
    if (hasCode(error, 'STORAGE_NOT_FOUND', 'ARCHIVE_DAMAGED')) return undefined
    throw error
  }
}

function same(bytes: Buffer): Buffer {
  return bytes
}
