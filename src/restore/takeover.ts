import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { type RestoreMark, readRuns } from './progress.ts'
import type { Stream } from './stream.ts'

/** The mark of a run that goes on where others were. */
export interface RunMark extends RestoreMark {
  /** Its name: no two runs have the same. */
  run: string
  /** Runs whose notes were there when this one began: what is theirs is behind it. */
  earlier: ReadonlySet<string>
}

/**
 * Of two runs of one restore at the same time the one that began later goes on, and the earlier one ends when it finds a
 * note of the other. Both write the same batches with the same sequences, so that brokers keep one of each.
 */
export async function assertNotTakenOver(
  cluster: Cluster,
  restoreId: string,
  { run, earlier }: RunMark,
  streams: readonly Stream[],
  signal: AbortSignal,
): Promise<void> {
  const runs = await readRuns(cluster, restoreId, streams, signal)
  if ([...runs].every(one => one === run || earlier.has(one))) return
  throw new KafkaBackupError('RESTORE_CONFLICT', `another run of the restore ${restoreId} has taken over`, {
    help: 'Let the other run finish. When there is none any more, run the same command again.',
  })
}
