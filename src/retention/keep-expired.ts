import { scanManifests } from '../archive/catalog.ts'
import { withLease } from '../archive/hold-lease.ts'
import { KafkaBackupError } from '../errors.ts'
import { type PruneParts, pruneClaim } from './prune-context.ts'

/** Keeps an expired backup that is not yet removed. */
export async function keepExpired(backupId: string, parts: PruneParts, signal: AbortSignal): Promise<void> {
  const { storage } = parts
  await withLease(parts, pruneClaim(backupId), signal, async lease => {
    const other = (await lease?.others(signal))?.find(({ role }) => role === 'prune')
    if (other) {
      throw new KafkaBackupError('WRITER_CONFLICT', `backup \`${backupId}\` is being pruned: ${other.holder}`)
    }
    const { manifests, mark } = await scanManifests(storage, backupId, signal)
    if (mark && manifests.size > 0) return storage.remove(mark.key, signal)
    const why = mark ? 'its removal has begun' : 'it has not expired'
    throw new KafkaBackupError('BACKUP_NOT_FOUND', `backup \`${backupId}\` cannot be kept: ${why}`)
  })
}
