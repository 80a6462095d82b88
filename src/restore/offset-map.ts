import { KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { fetchBounds, partitionKey } from '../kafka/offsets.ts'
import type { Storage } from '../storage/storage.ts'
import { openOutgoing } from './archived-records.ts'
import { joinRuns, type MappedRun, meetRuns, type PlacedRun } from './join-runs.ts'
import { locateRestore } from './locate-restore.ts'
import type { RestoreOptions } from './options.ts'
import type { Outgoing } from './outgoing.ts'
import { readProgress, streamKey } from './progress.ts'
import { readTargetLog, type TargetPartition } from './target-log.ts'

/** Records that lie side by side at the source and on the target. */
export interface OffsetMapRun extends MappedRun {
  topic: string
  partition: number
  targetTopic: string
  targetPartition: number
}

/** Of the source. */
export interface OffsetMapFilter {
  topic?: string
  partition?: number
}

const SEQUENCES = 2n ** 31n

/**
 * Where each record of the source is on the target. Nothing is remembered and nothing is guessed: the archive tells the
 * order in which records were sent, and the batches of the target tell, by producer id and sequence, which of them they
 * are. What is no longer on the target is not in the map.
 */
export async function* readOffsetMap(
  options: RestoreOptions,
  { cluster, storage }: { cluster: Cluster; storage: Storage },
  filter: OffsetMapFilter,
  signal: AbortSignal,
): AsyncGenerator<OffsetMapRun> {
  const { plan, restoreId, topics } = await locateRestore(options, { cluster, storage }, signal)
  const progress = await readProgress(cluster, restoreId, signal)
  if (!progress) throw unknown(restoreId)
  const { producerId } = progress.identity
  for (const topic of plan.topics.filter(({ source }) => source.name === (filter.topic ?? source.name))) {
    for (const stream of topic.streams) {
      const { partition: from } = stream.source
      const place = { topic: topic.name, partition: stream.partition }
      if (from !== (filter.partition ?? from) || !progress.streams.has(streamKey(place))) continue
      const target = { ...place, topicId: topics.get(topic.name)?.id ?? '' }
      const sent = sentRuns(
        await openOutgoing({ ...options, offsetHeaders: false }, { plan, topic, stream }, storage, signal),
      )
      const placed = placedRuns(cluster, target, producerId, signal)
      const names = {
        topic: topic.source.name,
        partition: from,
        targetTopic: topic.name,
        targetPartition: place.partition,
      }
      for await (const run of joinRuns(meetRuns(sent, placed))) yield { ...names, ...run }
    }
  }
}

/** The offsets at the source by the position in the stream, which begins at 0. */
export async function* sentRuns(batches: AsyncIterable<Outgoing>): AsyncGenerator<PlacedRun> {
  let position = 0n
  for await (const { runs } of batches) {
    for (const { sourceOffset, count } of runs) {
      yield { position, offset: sourceOffset, count: BigInt(count) }
      position += BigInt(count)
    }
  }
}

/** The same on the target. A batch keeps its first and last offset and its sequence when compaction empties it. */
async function* placedRuns(
  cluster: Cluster,
  target: TargetPartition,
  producerId: bigint,
  signal: AbortSignal,
): AsyncGenerator<PlacedRun> {
  const bounds = (await fetchBounds(cluster, [target], signal)).get(partitionKey(target))
  if (!bounds) throw new KafkaBackupError('KAFKA_NOT_READY', `nobody tells the end of ${partitionKey(target)}`)
  const { logStart: from, lastStable: to } = bounds
  let position = 0n
  for await (const batches of readTargetLog(cluster, target, { from, to }, signal)) {
    for (const { header, sequence } of batches) {
      if (header.producerId !== producerId) continue
      position = unwrap(position, sequence)
      yield { position, offset: header.baseOffset, count: header.lastOffset - header.baseOffset + 1n }
    }
  }
}

/** Sequences begin anew at 0 after 2^31 records: the next position at or behind this one that has the sequence. */
export function unwrap(position: bigint, sequence: number): bigint {
  const ahead = (BigInt(sequence) - position) % SEQUENCES
  return position + (ahead < 0n ? ahead + SEQUENCES : ahead)
}

function unknown(restoreId: string): KafkaBackupError {
  return new KafkaBackupError('RESTORE_REFUSED', `the target knows nothing of the restore ${restoreId}`, {
    help: 'Run the restore first, with the same job: its progress on the target tells which batches are its own.',
  })
}
