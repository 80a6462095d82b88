import { backupPrefix } from '../archive/layout.ts'
import type { EncryptedStorage } from '../encryption/encrypted-storage.ts'
import { KafkaBackupError } from '../errors.ts'

/**
 * The bytes of all objects of a backup in the store, of every generation that is kept, by one listing. Undefined where the
 * store cannot be listed: the size of a backup is no reason to fail.
 */
export async function measureBackup(
  storage: Pick<EncryptedStorage, 'listStored'>,
  backupId: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    let bytes = 0
    for await (const { size } of storage.listStored(backupPrefix(backupId), signal)) bytes += size
    return bytes
  } catch (error) {
    if (error instanceof KafkaBackupError || signal.aborted) return undefined
    throw error
  }
}
