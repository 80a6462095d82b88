import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Storage } from './storage.ts'

/** Always the same, so that nothing piles up where objects cannot be removed. An object beside the backups is no backup. */
export const probeKey = '.kafka-backup-probe'

const text =
  'kafka-backup creates this object to see whether the store keeps an object that is there. It may be removed.\n'

/**
 * Fails with STORAGE_UNFIT where the store replaces an object that was only to be created. Two runs of one backup would
 * both commit then, and one would be lost. Once the object is there a probe costs one request and changes nothing.
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
    `${storage.location} replaces objects that are to be created only where none is (it ignores \`If-None-Match: *\` or \`ifGenerationMatch=0\`)`,
  )
}
