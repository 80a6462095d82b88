import type { ManifestPartition, ManifestTopic, Segment } from './manifest.ts'

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

function checkSums(partition: ManifestPartition, segments: readonly Segment[]): string[] {
  const sum = (pick: (segment: Segment) => number) => segments.reduce((total, segment) => total + pick(segment), 0)
  const rows: [string, number, number][] = [
    ['segments', partition.segments, segments.length],
    ['records', partition.records, sum(s => s.records)],
    ['aborted records', partition.aborted_records, sum(s => s.aborted_records)],
    ['batches', partition.batches, sum(s => s.batches)],
    ['bytes', partition.bytes, sum(s => s.plain_size)],
    ['stored bytes', partition.stored_bytes, sum(s => s.size)],
  ]
  return rows
    .filter(([, recorded, found]) => recorded !== found)
    .map(([what, recorded, found]) => `the manifest counts ${recorded} ${what}, its indexes ${found}`)
}
