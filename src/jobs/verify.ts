import { type VerifyOptions, type VerifyReport, verifyBackup } from '../archive/verify.ts'
import type { Storage } from '../storage/storage.ts'
import { withLeaseAt } from './leases.ts'

/** A deep look takes long enough for what it reads to be pruned away; a quick one does not. */
export function verifyAt(
  storage: Storage,
  backupId: string,
  options: VerifyOptions,
  signal: AbortSignal,
): Promise<VerifyReport> {
  if (!options.deep) return verifyBackup(storage, backupId, options, signal)
  return withLeaseAt(storage, { backupId, role: 'reader', kind: 'verify' }, options, signal, () =>
    verifyBackup(storage, backupId, options, signal),
  )
}
