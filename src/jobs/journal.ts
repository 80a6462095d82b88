import { holdRegistry, type RegistryHold } from '../archive/registry-lease.ts'
import { systemClock } from '../lib/clock.ts'
import type { RegistryClient } from '../registry/client/client.ts'
import { JournalBook } from '../registry/restore/journal.ts'
import { parseLocation } from '../storage/location.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { openEncryption, type StoragePlace } from './encryption.ts'
import { leaseParts } from './leases.ts'
import { type Hooks, newRun } from './parts.ts'
import type { RegistryJob } from './registry.ts'

export interface JournalParts {
  client: RegistryClient
  /** Of the backup. */
  beside: Storage
  hooks: Hooks
}

/**
 * Next to the backup, or where the job says. A run that writes to the registry holds it meanwhile, until `release`; a run
 * that only reads does not.
 */
export async function openJournal<T>(
  job: StoragePlace & { backupId: string },
  { restore, urls = [] }: RegistryJob,
  { client, beside, hooks }: JournalParts,
  signal: AbortSignal,
  work: (journal: JournalBook, hold: RegistryHold) => Promise<T>,
): Promise<T> {
  const { backupId } = job
  const storage = restore.journal === undefined ? undefined : parseLocation(restore.journal)
  const own = storage && openEncryption(openStorage(storage), { ...job, storage })
  let hold: RegistryHold = { assertHeld: () => undefined, release: async () => undefined }
  try {
    const parts = { storage: own ?? beside, clock: systemClock, newRun }
    if (!hooks.isReadOnly && restore.enabled) {
      const claim = { urls, kind: `restore of backup ${backupId}` }
      hold = await holdRegistry(leaseParts(parts.storage, hooks), claim, signal)
    }
    return await work(new JournalBook(parts, { backupId, registry: client.name }), hold)
  } finally {
    await hold.release()
    await own?.close()
  }
}
