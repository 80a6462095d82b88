import type { OffsetMapRun } from './offset-map.ts'

export interface OffsetPlace {
  /** False where the source had no record at this offset that was restored: then it is the next one that was. */
  isExact: boolean
  sourceOffset: bigint
  targetTopic: string
  targetPartition: number
  targetOffset: bigint
}

/**
 * Where the record at this offset of the source is, in the maps of its partition, one for each partition of the target
 * that has records of it; undefined behind the last one.
 */
export async function findOffset(
  maps: AsyncIterable<AsyncIterable<OffsetMapRun>>,
  offset: bigint,
): Promise<OffsetPlace | undefined> {
  let nearest: OffsetPlace | undefined
  for await (const runs of maps) {
    const place = await findInRuns(runs, offset)
    if (place?.isExact) return place
    if (place && (!nearest || place.sourceOffset < nearest.sourceOffset)) nearest = place
  }
  return nearest
}

async function findInRuns(runs: AsyncIterable<OffsetMapRun>, offset: bigint): Promise<OffsetPlace | undefined> {
  for await (const run of runs) {
    const { sourceOffset: first, targetOffset, targetTopic, targetPartition, count } = run
    if (first + count <= offset) continue
    const isExact = first <= offset
    const sourceOffset = isExact ? offset : first
    return { isExact, sourceOffset, targetTopic, targetPartition, targetOffset: targetOffset + sourceOffset - first }
  }
  return undefined
}
