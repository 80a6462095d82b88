import type { OnProgress } from '../observe/progress.ts'
import type { AvoidedDamage } from './damage.ts'
import { isCompacted } from './effective-settings.ts'
import type { ManifestPartition, ManifestTopic } from './manifest.ts'

type Topic = Pick<ManifestTopic, 'configs' | 'effective_configs'>
type Partition = Pick<ManifestPartition, 'compaction' | 'records'>

/** Pure. What a reader of these topics should know of their records. */
export function recordWarnings(topics: readonly ManifestTopic[]): string[] {
  return [...deletedKeyWarnings(topics), ...convertedWarnings(topics)]
}

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

interface ConvertedTopic {
  name: string
  partitions: readonly Pick<ManifestPartition, 'start_offset' | 'converted'>[]
}

/** Pure. One warning for each topic with records that the source held in an old message format: what of them is not kept. */
export function convertedWarnings(topics: readonly ConvertedTopic[]): string[] {
  return topics.flatMap(({ name, partitions }) => {
    // Retention may have removed them since.
    const own = partitions.flatMap(one => (isThere(one) && one.converted ? [one.converted] : []))
    if (own.length === 0) return []
    const formats = [...new Set(own.flatMap(one => one.formats))].sort()
    const where = own.length === 1 ? '1 partition holds' : `${own.length} partitions hold`
    const what = `${where} records that the source has in message format ${formats.join(' and ')}`
    const kept = 'offsets, keys, values and timestamps are the same'
    const times = formats.includes('v0') ? '; records of v0 have no timestamp (-1)' : ''
    return [
      `topic ${name}: ${what}. They are stored in format v2: ${kept}${times}; they have no headers. Not kept: the original checksums and bytes`,
    ]
  })
}

function isThere({ start_offset, converted }: ConvertedTopic['partitions'][number]): boolean {
  return converted !== undefined && start_offset < converted.end_offset
}

interface Read {
  avoided?: readonly AvoidedDamage[] | undefined
}

/** Pure. Of damaged objects that the reader of a generation did without. */
export function avoidedWarnings({ avoided = [] }: Read): string[] {
  return avoided.map(({ key, problem }) => `${key}: ${problem}`)
}

/** Warns of damaged objects that the reader of a generation did without, for one whose report does not name them. */
export function warnOfAvoided(read: Read, onProgress: OnProgress): void {
  for (const message of avoidedWarnings(read)) onProgress({ type: 'warning', message })
}

/** The same when the work has ended, which reads segments: some damage is found only there. */
export async function warningOfAvoided<T>(read: Read, onProgress: OnProgress, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    warnOfAvoided(read, onProgress)
  }
}
