import type { Manifest } from '../archive/manifest.ts'
import { toKafkaBackupError } from '../errors.ts'
import type { BackupOptions } from './backup-options.ts'
import { type BackupTarget, openTarget } from './open-target.ts'
import { type BackupParts, prepareRound, type RoundReport, runRound } from './round.ts'
import { StartOver } from './start-over.ts'
import { beginSections } from './take-sections.ts'
import { type BackupChanges, changesSince } from './tally.ts'

export interface BackupReport extends RoundReport {
  manifest: Manifest
  changes: BackupChanges
  /** What the whole backup occupies in the store, of every generation that is kept; absent where that is not known. */
  occupiedBytes?: number
}

/**
 * Copies what the source has beyond the newest committed state and commits it. When it is interrupted or fails, what is
 * durable is committed as an incomplete generation before the error is thrown; the next run continues from there.
 */
export async function runBackup(
  options: BackupOptions,
  parts: BackupParts,
  signal: AbortSignal,
): Promise<BackupReport> {
  const startOver = new StartOver(options)
  for (let { newest } = parts; ; newest = undefined) {
    try {
      const target = await openTarget(options.backupId, parts, signal, newest)
      return await runOnce(startOver.optionsFor(target.previous), target, parts, signal)
    } catch (error) {
      if (signal.aborted || !startOver.accepts(error)) throw error
      parts.onProgress({ type: 'warning', message: `starting over: ${toKafkaBackupError(error).message}` })
    }
  }
}

async function runOnce(
  options: BackupOptions,
  { previous, openPublisher }: BackupTarget,
  parts: BackupParts,
  signal: AbortSignal,
): Promise<BackupReport> {
  const observed = await prepareRound(options, parts, previous, signal)
  const prepared = await beginSections(observed, options.backupId, parts, signal)
  try {
    const publisher = openPublisher(options, prepared)
    const { missed, ...report } = await runRound(options, prepared, parts, publisher, signal)
    if (missed) throw missed
    return { ...report, manifest: publisher.newest, changes: changesSince(previous, publisher.newest) }
  } finally {
    // A run that fails before its commit ends with no request under way.
    await prepared.stored?.().catch(() => undefined)
  }
}
