import { setFlagsFromString } from 'node:v8'
import { SieveWorkers } from '../../inspect/sieve-workers.ts'
import type { Session } from '../session.ts'

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

/** As V8 does it without the flags of bin/kafka-backup.js: a search keeps little, and would collect it every few pieces. */
function letHeapGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
  setFlagsFromString('--heap-growing-percent=0')
}
