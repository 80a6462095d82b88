import { type GenerationChoice, openSelected } from '../archive/select-generation.ts'
import { type CatQuery, catRecords } from '../inspect/cat.ts'
import type { ShownRecord } from '../inspect/print-format.ts'
import type { Storage } from '../storage/storage.ts'

/** Calls `work` with records of a backup, which are read as it takes them. Nothing is written, not even a lease. */
export async function catAt<T>(
  storage: Storage,
  backupId: string,
  choice: GenerationChoice,
  query: CatQuery,
  signal: AbortSignal,
  work: (records: AsyncIterable<ShownRecord>) => Promise<T>,
): Promise<T> {
  const manifest = await openSelected(storage, backupId, choice, signal)
  return work(catRecords(storage, manifest, query, signal))
}
