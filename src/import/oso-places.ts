import { backupPrefix, leasesPrefix, manifestCopyKey } from '../archive/layout.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { isOurs, MANIFEST_HELP, type OsoManifest, parseOsoManifest, tryJson } from './oso-manifest.ts'

/** `manifest.json` of an archive at the same place would be replaced, and another backup must not be mixed with. */
export async function refuseExisting(to: Storage, backupId: string, signal: AbortSignal): Promise<void> {
  for await (const { key } of to.list(backupPrefix(backupId), signal)) {
    if (key.startsWith(leasesPrefix(backupId))) continue
    const copy = manifestCopyKey(backupId)
    const isForeign = (await to.stat(copy, signal)) !== undefined && !isOurs(tryJson(await to.read(copy, signal)))
    // `delete` would remove the manifest of the other program.
    const help = isForeign
      ? `Nothing was written. Pass another --to: ${copy} belongs to an archive of another program, which this import must not replace.`
      : 'Nothing was written. Pass another --to; `kafka-backup delete` removes what an interrupted import left.'
    throw new KafkaBackupError('STORAGE_EXISTS', `${to.location} already has ${key}`, { help })
  }
}

/** The manifest of an archive of OSO kafka-backup. */
export async function readOsoManifest(from: Storage, backupId: string, signal: AbortSignal): Promise<OsoManifest> {
  const key = manifestCopyKey(backupId)
  return parseOsoManifest(await readManifest(from, key, signal), key)
}

async function readManifest(from: Storage, key: string, signal: AbortSignal): Promise<Buffer> {
  try {
    return await from.read(key, signal)
  } catch (cause) {
    if (!hasCode(cause, 'STORAGE_NOT_FOUND')) throw cause
    throw new KafkaBackupError('STORAGE_NOT_FOUND', `there is no archive of OSO kafka-backup: ${cause.message}`, {
      help: MANIFEST_HELP,
      cause,
    })
  }
}
