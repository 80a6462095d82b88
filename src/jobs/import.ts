import { withLease } from '../archive/writer-lease.ts'
import { type ImportReport, importOso, prepareImport } from '../import/import-oso.ts'
import { formatUtc, systemClock } from '../lib/clock.ts'
import { parseLocation } from '../storage/location.ts'
import { openStorage } from '../storage/open-storage.ts'
import { version } from '../version.ts'
import { leaseParts } from './leases.ts'
import { type Hooks, newRun, openBareStorage } from './parts.ts'

export interface ImportRequest {
  /** The location of the archives of OSO kafka-backup. */
  from: string
  to: string
  backupId: string
}

/** Imports an archive of OSO kafka-backup. */
export async function importJob(request: ImportRequest, hooks: Hooks, signal: AbortSignal): Promise<ImportReport> {
  const { backupId } = request
  const from = await openBareStorage(parseLocation(request.from), signal)
  const to = openStorage(parseLocation(request.to))
  try {
    const parts = { from, to, backupId, run: newRun(), toolVersion: version, now: () => formatUtc(systemClock.now()) }
    // Before the lease, which would leave an empty folder behind.
    await prepareImport(parts, signal)
    const claim = { backupId, role: 'writer', kind: 'import' } as const
    return await withLease(leaseParts(to, hooks), claim, signal, () =>
      importOso({ ...parts, onProgress: hooks.onProgress }, signal),
    )
  } finally {
    await Promise.all([from.close(), to.close()])
  }
}
