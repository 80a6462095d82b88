import { assertManifestKeys } from '../archive/assert-keys.ts'
import { manifestCopyKey, manifestKey } from '../archive/layout.ts'
import { type Manifest, parseManifest } from '../archive/manifest.ts'
import { renewRegistryCopies } from '../archive/newest-copies.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { isSameGeneration } from './compare-histories.ts'
import type { Sides } from './sides.ts'

interface SourceManifest {
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
  { target, adaptManifest = same, assertHeld }: Sides,
  { key, bytes }: SourceManifest,
  signal: AbortSignal,
): Promise<void> {
  assertHeld?.()
  try {
    await target.create(key, adaptManifest(bytes), signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_EXISTS')) throw error
    // Another copy may have brought the same.
    if (isSameGeneration(bytes, await target.read(key, signal))) return
    throw new KafkaBackupError('WRITER_CONFLICT', `another process has written ${key} at ${target.location}`, {
      cause: error,
      details: { key, location: target.location },
    })
  }
}

/**
 * Brings what is a copy of the newest generation at the target up to date; a run that was killed before leaves old ones. The
 * generation does not depend on them, so what the store refuses is returned as a warning.
 */
export async function renewTargetCopies(
  target: Storage,
  backupId: string,
  newest: number,
  signal: AbortSignal,
): Promise<string[]> {
  const key = manifestCopyKey(backupId)
  const bytes = await target.read(manifestKey(backupId, newest), signal)
  const warnings: string[] = []
  try {
    if (!(await readIfWhole(target, key, signal))?.equals(bytes)) await target.replace(key, bytes, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_DENIED', 'STORAGE_RETAINED')) throw error
    warnings.push(`${key} is not the newest generation: ${error.message}`)
  }
  const stale = await renewRegistryCopies(target, parseManifest(bytes, manifestKey(backupId, newest)), signal)
  signal.throwIfAborted()
  return stale === undefined ? warnings : [...warnings, stale]
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
