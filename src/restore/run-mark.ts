import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { Clock } from '../lib/clock.ts'
import { explainRefused } from './note-room.ts'
import { type ProgressNote, type RestoreMark, readNotes, type StreamProgress, streamKey } from './progress.ts'
import type { Stream } from './stream.ts'

/** The mark of a run that takes over from others. */
export interface RunMark extends RestoreMark {
  /** Its name: no two runs have the same. It is the producer ID that the run has got, also where it continues as an earlier producer. */
  run: string
  /** Runs whose notes were there when this one began: what is theirs is behind it. */
  earlier: ReadonlySet<string>
  /** Another first run may have found no progress either, and write to the same topics as another producer. */
  mayHaveTwin: boolean
}

/** Longer than a commit takes that another run has begun before it could see the notes of this one. */
const CLAIM_MS = 2000

/** Whether it continues as the producer of an earlier run, whose batches may arrive late. */
export function continuesEarlier({ run, identity }: RunMark): boolean {
  return run !== `${identity.producerId}`
}

/**
 * Of two runs of one restore at the same time the one that started later continues, and the earlier one ends when it finds a
 * note of the other. Both write the same batches with the same sequences, so that brokers keep one of each. Where the earlier one has come to
 * its end after the later one read its notes, the later one ends: the topics may be in use by now.
 */
export function assertNotTakenOver(
  restoreId: string,
  { run, earlier }: RunMark,
  noted: readonly ProgressNote[],
  streams: readonly StreamProgress[],
): void {
  const others = noted.filter(one => one.run !== run)
  if (!others.every(one => earlier.has(one.run))) throw takenOver(restoreId)
  const own = new Map(streams.map(one => [streamKey(one), one]))
  const hasEndedBy = ({ stream }: ProgressNote) => {
    const mine = own.get(streamKey(stream))
    return mine !== undefined && hasEnded(stream, mine)
  }
  if (others.some(hasEndedBy)) throw new EndedMeanwhile(restoreId)
}

/** Not a retryable error, because trying to write the same note again cannot help: the progress has to be read again. */
class EndedMeanwhile extends Error {
  constructor(restoreId: string) {
    super(`an earlier run of the restore ${restoreId} ended after this run had read its progress`)
  }
}

/** Throws what a write of notes has failed with. A Job repeats a run whose earlier run ended meanwhile. */
export function failNote(error: unknown): never {
  if (!(error instanceof EndedMeanwhile)) throw explainRefused(error)
  throw new KafkaBackupError('KAFKA_NOT_READY', error.message, { help: 'Run the same command again.' })
}

/** Pure. Whether what is noted of a partition would be lost with this note. Of a topic that was created again nothing would. */
function hasEnded(noted: StreamProgress, own: StreamProgress): boolean {
  if (noted.topicId === undefined || noted.topicId !== own.topicId) return false
  const stages = ['isFilledByShard', 'isFilled', 'isDone'] as const
  return stages.some(stage => noted[stage] && !own[stage]) || !(own.given ?? '').startsWith(noted.given ?? '')
}

export function takenOver(restoreId: string): KafkaBackupError {
  return new KafkaBackupError('RESTORE_CONFLICT', `another run of the restore ${restoreId} has taken over`, {
    help: 'Let the other run finish. When there is none any more, run the same command again.',
  })
}

/**
 * Of two first runs that begin at the same time, both may have seen that there are no notes before they committed theirs. The later commit
 * replaces the earlier one, and only its run may write: each has its own producer, so brokers would keep the records of both. A run that
 * found these notes, such as a shard of this preparation, continues as the same producer.
 */
export async function confirmClaim(
  { cluster, clock }: { cluster: Cluster; clock: Clock },
  restoreId: string,
  { identity, mayHaveTwin }: RunMark,
  streams: readonly Stream[],
  signal: AbortSignal,
): Promise<void> {
  if (!mayHaveTwin) return
  await clock.sleep(CLAIM_MS, signal)
  const keys = new Set(streams.map(streamKey))
  const notes = (await readNotes(cluster, restoreId, signal)).filter(({ stream }) => keys.has(streamKey(stream)))
  const isOwn = ({ mark: { identity: noted } }: ProgressNote) =>
    noted.producerId === identity.producerId && noted.producerEpoch === identity.producerEpoch
  if (!notes.every(isOwn)) throw takenOver(restoreId)
}
