import { isCompacted } from './effective-settings.ts'
import type { ManifestPartition, ManifestTopic } from './manifest.ts'

type Topic = Pick<ManifestTopic, 'configs' | 'effective_configs'>
type Partition = Pick<ManifestPartition, 'compaction' | 'records'>

/** Pure. Whether keys may be among its records that were deleted at the source before it was read the last time. */
export function mayHoldDeletedKeys(topic: Topic, { compaction, records }: Partition): boolean {
  if (compaction) return compaction.may_hold_deleted_keys && records > 0
  // Runs that do not write this down may have missed deletions.
  return isCompacted(topic) === true && records > 0
}

/** Pure. One warning for each topic of which this holds. */
export function deletedKeyWarnings(
  topics: readonly (Topic & { name: string; partitions: readonly Partition[] })[],
): string[] {
  return topics.flatMap(topic => {
    const suspects = topic.partitions.filter(partition => mayHoldDeletedKeys(topic, partition))
    if (suspects.length === 0) return []
    const what = suspects.length === 1 ? '1 partition' : `${suspects.length} partitions`
    const isKnown = suspects.some(({ compaction }) => compaction !== undefined)
    const why = isKnown ? 'a run came too late to see every tombstone' : 'no run has noted when it was read'
    return [`topic ${topic.name}: ${what} may hold keys that were deleted at the source; ${why}`]
  })
}
