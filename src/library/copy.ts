import { camelKeys } from '../config/camel-keys.ts'
import type { CopyReport } from '../copy/sides.ts'
import { KafkaBackupError } from '../errors.ts'
import { findPlace, type Place } from './place.ts'
import { type RunOptions, runWatched } from './run.ts'

export interface CopyRequest extends RunOptions {
  from: Place
  to: Place
  /** That of the job of `from` where it is not given. */
  backupId?: string | undefined
  /** One generation, or the newest alone; all that the target lacks where it is not given. */
  generation?: number | 'newest' | undefined
  /** Reads what is at the target already, too, and compares its hashes. */
  verifyExisting?: boolean | undefined
}

export type CopiedBackup = ReturnType<typeof copied>

/**
 * Brings a backup from one location to another and compares every object with its recorded hash. What the target holds is not
 * copied again. Damage is a result (`ok`, `problems`), and keeps back only the generations that it concerns. A target that
 * holds another backup of the same id is an error before anything is written. A dry run says what would be copied.
 */
export async function copyBackup({
  from,
  to,
  backupId,
  generation,
  verifyExisting = false,
  dryRun = false,
  ...options
}: CopyRequest & { dryRun?: boolean | undefined }): Promise<CopiedBackup> {
  const leaves = dryRun ? 'Nothing was changed.' : 'What was copied stays; copy again to continue.'
  return runWatched(options, leaves, async (onProgress, signal) => {
    const [source, target] = [await findPlace(from), await findPlace(to)]
    const id = backupId ?? source.backupId
    if (id === undefined) throw new KafkaBackupError('USAGE', 'say which backup, with backupId or a job')
    const { withCopies } = await import('../jobs/copy.ts')
    const places = { from: source.at, to: target.at }
    const request = { generation, verifyExisting, dryRun, onProgress }
    return withCopies(places, { onProgress }, signal, async copies => copied(await copies.copy(id, request, signal)))
  })
}

function copied(report: CopyReport) {
  return camelKeys(report)
}
