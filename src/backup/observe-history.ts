import { newestById } from '../archive/incarnation.ts'
import type { ManifestPartition } from '../archive/manifest.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { type EpochOf, fetchEpochEnds, type KnownEpoch } from '../kafka/epoch-ends.ts'
import { partitionKey } from '../kafka/offsets.ts'
import type { KnownState } from './backup-plan.ts'
import type { Divergence, ObservedSource } from './observed-source.ts'

/**
 * Asks the leaders whether they still have the log that the backup holds: its last batch names a leader epoch, and that
 * epoch must reach at least as far at the source. A rollback to a volume snapshot and an unclean election show here, also
 * when the log is longer again than the backup.
 */
export async function observeHistory(
  observed: ObservedSource,
  known: KnownState | undefined,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<ObservedSource> {
  const newest = newestById(known?.topics ?? [])
  const stored = new Map<string, ManifestPartition>()
  for (const { name, id, partitions } of observed.topics) {
    const shown = new Set(partitions.map(({ partition }) => partition))
    for (const one of newest.get(id)?.partitions ?? []) {
      if (shown.has(one.partition) && isComparable(one))
        stored.set(partitionKey({ topic: name, partition: one.partition }), one)
    }
  }
  const wanted = observed.topics.flatMap(({ name: topic, partitions }) =>
    partitions.flatMap(({ partition }): EpochOf[] => {
      const one = stored.get(partitionKey({ topic, partition }))
      return one ? [{ topic, partition, epoch: one.last_epoch }] : []
    }),
  )
  const ends = await fetchEpochEnds(cluster, wanted, signal, observed.shown)
  const topics = observed.topics.map(topic => ({
    ...topic,
    partitions: topic.partitions.map(one => {
      const key = partitionKey({ topic: topic.name, partition: one.partition })
      const divergence = findDivergence(stored.get(key), ends.get(key))
      return divergence ? { ...one, divergence } : one
    }),
  }))
  return { ...observed, topics }
}

/** Behind a gap nothing was read yet, and the epoch is that of the last batch before it. */
function isComparable({ last_epoch, end_offset, gaps }: ManifestPartition): boolean {
  return last_epoch >= 0 && !gaps.some(({ to }) => to === end_offset)
}

/** Pure. */
export function findDivergence(
  stored: Pick<ManifestPartition, 'last_epoch' | 'end_offset'> | undefined,
  known: KnownEpoch | undefined,
): Divergence | undefined {
  if (!stored || !known) return undefined
  const { last_epoch: storedEpoch, end_offset } = stored
  // A leader that has no history of epochs at all does not know the epoch either, though it leads in a higher one.
  if (known.endOffset < 0n) {
    return known.leaderEpoch >= 0 && known.leaderEpoch < storedEpoch ? { storedEpoch, endOffset: undefined } : undefined
  }
  return known.endOffset < end_offset ? { storedEpoch, endOffset: known.endOffset } : undefined
}
