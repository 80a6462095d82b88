import { hasCode } from '../errors.ts'
import { append } from '../lib/largest.ts'
import type { Storage } from '../storage/storage.ts'
import { readIndex } from './catalog.ts'
import { problemOf } from './damage.ts'
import { backupPrefix } from './layout.ts'
import type { ManifestPartition, ManifestTopic, Segment } from './manifest.ts'
import { ownIndexes } from './named-objects.ts'
import { checkPartition } from './verify-partition.ts'

export interface Problem {
  /** The object, or `topic/partition` where its objects do not fit together. */
  key: string
  problem: string
}

/** The segments of a partition by its indexes, with all that is wrong with those. No data is read. */
export async function gatherSegments(
  storage: Storage,
  topic: ManifestTopic,
  partition: ManifestPartition,
  signal: AbortSignal,
): Promise<{ segments: Segment[]; problems: Problem[] }> {
  const segments: Segment[] = []
  const problems: Problem[] = []
  let isComplete = true
  for (const ref of ownIndexes(topic, partition)) {
    try {
      append(segments, (await readIndex(storage, ref, signal)).segments)
    } catch (error) {
      if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
      problems.push({ key: ref.key, problem: problemOf(error, ref.key) })
      isComplete = false
    }
  }
  if (isComplete) append(problems, checkPartition(topic, partition, segments))
  return { segments, problems }
}

/** Of all objects of the backup, by key. */
export async function listSizes(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>()
  for await (const { key, size } of storage.list(backupPrefix(backupId), signal)) sizes.set(key, size)
  return sizes
}

/** Pure. The segments that are gone, or have another size than their index says. */
export function findMisfits(segments: readonly Segment[], sizes: ReadonlyMap<string, number>): Problem[] {
  return segments.flatMap(({ key, size: expected }) => {
    const size = sizes.get(key)
    if (size === expected) return []
    return [
      { key, problem: size === undefined ? 'the object is missing' : `it has ${size} bytes instead of ${expected}` },
    ]
  })
}
