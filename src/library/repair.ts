import type { RepairReport } from '../archive/repair.ts'
import { camelKeys } from '../config/camel-keys.ts'
import { type BackupPlace, named, withStorage } from './archive.ts'
import type { RunOptions } from './run.ts'

export type RepairedBackup = ReturnType<typeof repaired>

/**
 * Commits what can be read of a damaged backup of format version 2, and says what is lost. With `dryRun` nothing is written. Fails while
 * another process writes to the backup.
 */
export async function repair({
  signal,
  onProgress,
  deep = false,
  dryRun = false,
  ...place
}: BackupPlace & RunOptions & { deep?: boolean; dryRun?: boolean }): Promise<RepairedBackup> {
  return withStorage(place, { signal, onProgress }, async (storage, { backupId, scoped, tell }) => {
    const { repairAt } = await import('../jobs/repair.ts')
    return repaired(await repairAt(storage, named(backupId), { deep, isDryRun: dryRun, onProgress: tell }, scoped))
  })
}

function repaired(report: RepairReport) {
  return camelKeys(report)
}
