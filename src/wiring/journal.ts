import { systemClock } from '../lib/clock.ts'
import type { RegistryClient } from '../registry/client/client.ts'
import { JournalBook } from '../schemas/journal.ts'
import { parseLocation } from '../storage/location.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { newRun } from './parts.ts'
import type { RegistryJob } from './registry.ts'

/** Beside the backup, or where the job says. */
export async function openJournal<T>(
  { backupId }: { backupId: string },
  { restore }: RegistryJob,
  client: RegistryClient,
  beside: Storage,
  work: (journal: JournalBook) => Promise<T>,
): Promise<T> {
  const own = restore.journal === undefined ? undefined : openStorage(parseLocation(restore.journal))
  try {
    const parts = { storage: own ?? beside, clock: systemClock, newRun }
    return await work(new JournalBook(parts, { backupId, registry: client.name }))
  } finally {
    await own?.close()
  }
}
