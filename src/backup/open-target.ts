import { type NewestState, newestState } from '../archive/catalog.ts'
import { LogWriter } from '../archive/log/log-writer.ts'
import type { Manifest, Segment } from '../archive/manifest.ts'
import { renewCopies } from '../archive/newest-copies.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { BackupOptions } from './backup-options.ts'
import { GenerationPublisher } from './generation-publisher.ts'
import { LogPublisher } from './log-publisher.ts'
import type { BackupParts, Prepared } from './round.ts'
import type { Publisher } from './session.ts'

/** Where the next generation of a backup goes, in the version that the backup has. */
export interface BackupTarget {
  previous: Manifest | undefined
  openPublisher(
    options: BackupOptions,
    prepared: Prepared,
    carried?: ReadonlyMap<string, readonly Segment[]>,
  ): Publisher & { readonly newest: Manifest }
}

/** For a run that is not continuous: every append of it is a segment. `known` is the newest state, where it was read before. */
export async function openTarget(
  backupId: string,
  parts: BackupParts,
  signal: AbortSignal,
  known?: NewestState,
): Promise<BackupTarget> {
  const { storage, newRun, encryption, onProgress } = parts
  const found = known ?? (await newestState(storage, backupId, signal))
  if (!found.isLog) {
    return {
      previous: found.manifest,
      openPublisher: (options, prepared, carried) =>
        new GenerationPublisher(options, prepared, parts, carried && { carried }),
    }
  }
  const own = { backupId, newRun, nowMs: storeClock(parts), folderOf: encryption?.folderOf }
  const onWarning = (message: string) => onProgress({ type: 'warning', message })
  const log = await LogWriter.open(storage, found, { ...own, onWarning }, signal)
  // What is rolled up counts from the next commit on, and this run may make one only.
  await log.tidy(signal)
  const afterCommit = (newest: Manifest, onProgress: OnProgress) => renewAll(parts, newest, onProgress)
  return {
    previous: log.newest,
    openPublisher: (options, prepared, carried) =>
      new LogPublisher(log, options, prepared, parts, { afterCommit, ...(carried && { carried }) }),
  }
}

/** The clock of the store, known since the lease began: a host that pauses this machine stops it. Without a lease, that of this process. */
export function storeClock({ lease, clock }: Pick<BackupParts, 'lease' | 'clock'>): () => number {
  return () => lease?.storeNow() ?? clock.now()
}

/** The store finishes what it began, also after a Ctrl-C. */
async function renewAll({ storage }: BackupParts, newest: Manifest, onProgress: OnProgress): Promise<void> {
  const warnings = await renewCopies(storage, newest, new AbortController().signal)
  for (const message of warnings) onProgress({ type: 'warning', message })
}
