import { hasCode } from '../errors.ts'
import { append } from '../lib/largest.ts'
import { runPool } from '../lib/pool.ts'
import type { Storage } from '../storage/storage.ts'
import { problemOf } from './damage.ts'
import { ownIndexes, readIndex } from './indexes.ts'
import { backupPrefix } from './layout.ts'
import type { ManifestPartition, ManifestTopic, Segment, SegmentList } from './manifest.ts'
import { SizeTable } from './size-table.ts'

export interface Problem {
  /** The object, or `topic/partition` where its objects do not fit together. */
  key: string
  problem: string
}

/** Of one partition; callers read several partitions at the same time. */
const INDEXES_AT_ONCE = 4

/** The segments of a partition by its indexes, with all that is wrong with those. No data is read. */
export async function gatherSegments(
  storage: Storage,
  topic: ManifestTopic,
  partition: ManifestPartition,
  signal: AbortSignal,
): Promise<{ segments: readonly Segment[]; problems: Problem[] }> {
  if (partition.list) return gatherFromLog(topic, partition, partition.list, signal)
  const segments: Segment[] = []
  const problems: Problem[] = []
  const read = await runPool(ownIndexes(topic, partition), INDEXES_AT_ONCE, async ref => {
    try {
      return await readIndex(storage, ref, signal)
    } catch (error) {
      if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
      return { segments: [], problem: { key: ref.key, problem: problemOf(error, ref.key) } }
    }
  })
  for (const index of read) {
    append(segments, index.segments)
    if ('problem' in index) problems.push(index.problem)
  }
  if (problems.length === 0) append(problems, checkPartition(topic, partition, segments))
  return { segments, problems }
}

async function gatherFromLog(
  topic: ManifestTopic,
  partition: ManifestPartition,
  list: SegmentList,
  signal: AbortSignal,
): Promise<{ segments: readonly Segment[]; problems: Problem[] }> {
  try {
    const segments = await list.read(signal)
    return { segments, problems: checkPartition(topic, partition, segments) }
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    const key = error.details.key ?? `${topic.name}/${partition.partition}`
    return { segments: [], problems: [{ key, problem: problemOf(error, key) }] }
  }
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

/** The same in a fifth of the memory, for one who reads the objects afterwards. */
export async function tabulateSizes(storage: Storage, backupId: string, signal: AbortSignal): Promise<SizeTable> {
  const sizes = new SizeTable()
  for await (const { key, size } of storage.list(backupPrefix(backupId), signal)) sizes.add(key, size)
  return sizes
}

/** Pure. The segments that are gone, or have another size than their index says. */
export function findMisfits(segments: readonly Segment[], sizes: { get(key: string): number | undefined }): Problem[] {
  const misfits: Problem[] = []
  for (const { key, size: own, piece } of segments) {
    const size = sizes.get(key)
    const expected = piece?.pack.size ?? own
    // Where the size is not known, reading the object shows what is wrong.
    if (size === expected || Number.isNaN(size)) continue
    const problem = size === undefined ? 'the object is missing' : `it has ${size} bytes instead of ${expected}`
    misfits.push({ key, problem })
  }
  return misfits
}

/** Pure. Many partitions may need the same pack or page. */
export function uniqueProblems(problems: readonly Problem[]): Problem[] {
  return [...new Map(problems.map(one => [JSON.stringify([one.key, one.problem]), one])).values()]
}

/**
 * Pure. The segments of a partition, with its gaps, cover its offsets without a hole and without overlap, and add up to
 * what the manifest says of it.
 */
export function checkPartition(
  topic: Pick<ManifestTopic, 'name'>,
  partition: ManifestPartition,
  segments: readonly Segment[],
): { key: string; problem: string }[] {
  const key = `${topic.name}/${partition.partition}`
  return [...checkContinuity(partition, segments), ...checkSums(partition, segments)].map(problem => ({ key, problem }))
}

function checkContinuity(partition: ManifestPartition, segments: readonly Segment[]): string[] {
  const problems: string[] = []
  const gapEnds = new Map(partition.gaps.map(gap => [gap.from, gap.to]))
  let position = partition.start_offset
  for (const segment of segments) {
    const expected = afterGap(position, gapEnds)
    if (segment.start_offset !== expected) {
      problems.push(`offsets ${expected} to ${segment.start_offset} are in no segment and no gap`)
    }
    if (segment.end_offset <= segment.start_offset) problems.push(`${segment.key} covers no offset`)
    position = segment.end_offset
  }
  const end = afterGap(position, gapEnds)
  if (end !== partition.end_offset) {
    problems.push(`its segments and gaps reach offset ${end}, the manifest says ${partition.end_offset}`)
  }
  return problems
}

function afterGap(position: bigint, gapEnds: ReadonlyMap<bigint, bigint | null>): bigint {
  let after = position
  for (let to = gapEnds.get(after); to !== undefined && to !== null && to > after; to = gapEnds.get(after)) after = to
  return after
}

/** What is added up: its name, the field of a partition and that of a segment. */
const summed = [
  ['records', 'records', 'records'],
  ['aborted records', 'aborted_records', 'aborted_records'],
  ['batches', 'batches', 'batches'],
  ['bytes', 'bytes', 'plain_size'],
  ['stored bytes', 'stored_bytes', 'size'],
] as const

function checkSums(partition: ManifestPartition, segments: readonly Segment[]): string[] {
  const problems: string[] = []
  const compare = (what: string, recorded: number, found: number) => {
    if (recorded !== found) problems.push(`the manifest counts ${recorded} ${what}, its indexes ${found}`)
  }
  compare('segments', partition.segments, segments.length)
  for (const [what, field, ofSegment] of summed) {
    let sum = 0
    for (const segment of segments) sum += segment[ofSegment]
    compare(what, partition[field], sum)
  }
  return problems
}
