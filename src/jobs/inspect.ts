import { openBackup } from '../archive/catalog.ts'
import { type CatQuery, catRecords } from '../inspect/cat.ts'
import type { ShownRecord } from '../inspect/print-format.ts'
import { readGeneration } from '../restore/find-restore.ts'
import type { Storage } from '../storage/storage.ts'

/** A backup, and a generation of it if it is not the newest. */
export interface CatPlace {
  backupId: string
  generation?: number | undefined
}

/** Calls `work` with records of a backup, which are read as it takes them. Nothing is written, not even a lease. */
export async function catAt<T>(
  storage: Storage,
  { backupId, generation }: CatPlace,
  query: CatQuery,
  signal: AbortSignal,
  work: (records: AsyncIterable<ShownRecord>) => Promise<T>,
): Promise<T> {
  const newest = await openBackup(storage, backupId, signal)
  const manifest = await readGeneration(storage, newest, generation ?? newest.generation, signal)
  return work(catRecords(storage, manifest, query, signal))
}
