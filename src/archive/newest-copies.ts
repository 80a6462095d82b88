import { toKafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { manifestCopyKey } from './layout.ts'
import type { Manifest } from './manifest.ts'
import { renewRegistryCopies } from './registry-copies.ts'
import { sealJson } from './seal.ts'

/**
 * Brings everything that is a copy of the newest generation up to date: `manifest.json` and the files of the registry under
 * their plain names. The generation is committed already and does not depend on them, so failures are returned as warnings.
 */
export async function renewCopies(storage: Storage, manifest: Manifest, signal: AbortSignal): Promise<string[]> {
  const warnings: string[] = []
  try {
    await renewManifestCopy(storage, manifest, signal)
  } catch (error) {
    warnings.push(`manifest.json is not the newest generation: ${toKafkaBackupError(error).message}`)
  }
  const stale = await renewRegistryCopies(storage, manifest, signal)
  return stale === undefined ? warnings : [...warnings, stale]
}

/** Only a copy for people: commands read the generations. */
export async function renewManifestCopy(storage: Storage, manifest: Manifest, signal: AbortSignal): Promise<void> {
  await storage.replace(manifestCopyKey(manifest.backup_id), sealJson(manifest), signal)
}
