import { warningOfAvoided } from '../archive/record-warnings.ts'
import { type GenerationChoice, openSelected } from '../archive/select-generation.ts'
import { type CatQuery, catRecords, type OnRead, type Tally } from '../inspect/cat.ts'
import type { ShownRecord } from '../inspect/print-format.ts'
import type { SieveWorkers } from '../inspect/sieve-workers.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'

export interface CatRequest extends GenerationChoice {
  query: CatQuery
  /** Counts what is read. */
  tally?: Tally
  onProgress?: OnProgress
  /** Started before, for a search. */
  workers?: SieveWorkers
}

/** Calls `work` with records of a backup, which are read as it takes them. Nothing is written, not even a lease. */
export async function catAt<T>(
  storage: Storage,
  backupId: string,
  { query, tally, onProgress = () => undefined, workers, ...choice }: CatRequest,
  signal: AbortSignal,
  work: (records: AsyncIterable<ShownRecord>) => Promise<T>,
): Promise<T> {
  const manifest = await openSelected(storage, backupId, choice, signal)
  const onRead: OnRead = read => onProgress({ type: 'checked', ...read })
  return warningOfAvoided(manifest, onProgress, () =>
    work(catRecords(storage, manifest, query, { ...(tally && { tally }), onRead, workers }, signal)),
  )
}
