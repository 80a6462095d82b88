import { append } from '../lib/largest.ts'
import { mapAhead } from '../lib/read-ahead.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import type { ManifestPartition, ManifestTopic, Segment } from './manifest.ts'
import { SizeTable } from './size-table.ts'
import { findMisfits, gatherSegments, type Problem } from './verify-objects.ts'
import { checkSegment } from './verify-segment.ts'

/** One list of segments: that of a partition, or the one that is to replace it. */
export interface VerifiedList {
  topic: ManifestTopic
  one: ManifestPartition
}

interface VerifyScope {
  /** Every byte is read. */
  deep: boolean
  sizes: SizeTable
  onProgress: OnProgress
}

interface RecordFindings {
  /** Distinct ones: many partitions share a pack. */
  objects: number
  bytes: number
  problems: Problem[]
}

const CONCURRENCY = 4

/** What is wrong with the segments of all lists. The segments of few lists are in memory at a time: an old backup has millions. */
export async function verifyRecords(
  storage: Storage,
  lists: readonly VerifiedList[],
  { deep, sizes, onProgress }: VerifyScope,
  signal: AbortSignal,
): Promise<RecordFindings> {
  const found: RecordFindings = { objects: 0, bytes: 0, problems: [] }
  const present = walkSegments(storage, lists, sizes, found, signal)
  const totalObjects = lists.reduce((sum, { one }) => sum + one.segments, 0)
  const totalBytes = lists.reduce((sum, { one }) => sum + one.stored_bytes, 0)
  let objects = 0
  let bytes = 0
  const checked = mapAhead(present, CONCURRENCY, async segment => {
    const problems = deep ? await checkSegment(storage, segment, signal) : []
    return { segment, problems }
  })
  for await (const { segment, problems } of checked) {
    for (const problem of problems) found.problems.push({ key: segment.key, problem })
    objects++
    bytes += segment.size
    if (deep) onProgress({ type: 'checked', objects, bytes, totalObjects, totalBytes })
  }
  return found
}

/** Those that are there with the right size, in the order of their lists. */
async function* walkSegments(
  storage: Storage,
  lists: readonly VerifiedList[],
  sizes: SizeTable,
  found: RecordFindings,
  signal: AbortSignal,
): AsyncGenerator<Segment> {
  const counted = new SizeTable()
  const gathered = mapAhead(oneByOne(lists), CONCURRENCY, ({ topic, one }) =>
    gatherSegments(storage, topic, one, signal),
  )
  for await (const { segments, problems } of gathered) {
    const misfits = findMisfits(segments, sizes)
    const missing = new Set(misfits.map(({ key }) => key))
    append(found.problems, problems)
    append(found.problems, misfits)
    for (const segment of segments) {
      found.bytes += segment.size
      if (counted.get(segment.key) === undefined) {
        counted.add(segment.key, 0)
        found.objects++
      }
      if (!missing.has(segment.key)) yield segment
    }
  }
}

async function* oneByOne<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}
