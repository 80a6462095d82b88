import type { Manifest } from '../archive/manifest.ts'
import { toKafkaBackupError } from '../errors.ts'
import type { BackupOptions } from './backup-options.ts'
import { type BackupTarget, openTarget } from './open-target.ts'
import { type BackupParts, prepareRound, type RoundReport, runRound } from './round.ts'
import { StartOver } from './start-over.ts'
import { beginSections } from './take-sections.ts'
import { type BackupChanges, changesSince } from './tally.ts'

/** What a caller may ask of the source before the run begins. */
export { observeSource } from './observe-source.ts'

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
  const { newest: _, shown: __, ...later } = parts
  for (let current: BackupParts = parts; ; current = later) {
    try {
      const target = await openTarget(options.backupId, current, signal, current.newest)
      return await runOnce(startOver.optionsFor(target.previous), target, current, signal)
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
    const report = await runRound(options, prepared, parts, publisher, signal)
    return { ...report, manifest: publisher.newest, changes: changesSince(previous, publisher.newest) }
  } finally {
    // A run that fails before its commit ends with no request under way.
    await prepared.stored?.().catch(() => undefined)
  }
}
