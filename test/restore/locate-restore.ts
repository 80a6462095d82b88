import type { Cluster } from '../../src/kafka/cluster.ts'
import { findRestore } from '../../src/restore/find-restore.ts'
import { type LocatedRestore, locateFound } from '../../src/restore/locate-restore.ts'
import type { RestoreOptions } from '../../src/restore/restore-options.ts'
import type { Storage } from '../../src/storage/storage.ts'

/** Reads the backup and the target, and changes neither. */
export async function locateRestore(
  options: RestoreOptions,
  parts: { cluster: Cluster; storage: Storage },
  signal: AbortSignal,
): Promise<LocatedRestore> {
  return locateFound(await findRestore(options, parts, signal), options, parts, signal)
}
