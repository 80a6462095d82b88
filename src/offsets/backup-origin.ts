import { openBackup } from '../archive/catalog.ts'
import { KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import type { Origin } from './origin.ts'

/** The positions that a backup holds of consumer groups. */
export async function readBackupOrigin(storage: Storage, backupId: string, signal: AbortSignal): Promise<Origin> {
  const manifest = await openBackup(storage, backupId, signal)
  throw new KafkaBackupError('OFFSETS_REFUSED', `the backup ${manifest.backup_id} holds no consumer groups`)
}
