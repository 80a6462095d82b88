import { systemClock } from '../lib/clock.ts'
import type { RegistryClient } from '../registry/client/client.ts'
import { JournalBook } from '../schemas/journal.ts'
import { parseLocation } from '../storage/location.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { openEncryption, type StoragePlace } from './encryption.ts'
import { newRun } from './parts.ts'
import type { RegistryJob } from './registry.ts'

/** Beside the backup, or where the job says. */
export async function openJournal<T>(
  job: StoragePlace & { backupId: string },
  { restore }: RegistryJob,
  client: RegistryClient,
  beside: Storage,
  work: (journal: JournalBook) => Promise<T>,
): Promise<T> {
  const { backupId } = job
  const storage = restore.journal === undefined ? undefined : parseLocation(restore.journal)
  const own = storage && openEncryption(openStorage(storage), { ...job, storage })
  try {
    const parts = { storage: own ?? beside, clock: systemClock, newRun }
    return await work(new JournalBook(parts, { backupId, registry: client.name }))
  } finally {
    await own?.close()
  }
}
