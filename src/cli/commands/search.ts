import { SieveWorkers } from '../../inspect/sieve-workers.ts'
import type { Session } from '../session.ts'
import { letHeapGrow } from './let-heap-grow.ts'

/** The threads start while everything else is loaded, which takes as long. */
export async function run(session: Session): Promise<number> {
  const workers = new SieveWorkers()
  letHeapGrow()
  try {
    const { searchRecords } = await import('./search-records.ts')
    return await searchRecords(session, workers)
  } finally {
    workers.end()
  }
}
