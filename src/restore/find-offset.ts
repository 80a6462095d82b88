import type { OffsetMapRun } from './offset-map.ts'

export interface OffsetPlace {
  /** False where the source had no record at this offset that was restored: then it is the next one that was. */
  isExact: boolean
  sourceOffset: bigint
  targetTopic: string
  targetPartition: number
  targetOffset: bigint
}

/** Where the record at this offset of the source is, in the map of its partition; undefined behind the last one. */
export async function findOffset(runs: AsyncIterable<OffsetMapRun>, offset: bigint): Promise<OffsetPlace | undefined> {
  for await (const run of runs) {
    const { sourceOffset: first, targetOffset, targetTopic, targetPartition, count } = run
    if (first + count <= offset) continue
    const isExact = first <= offset
    const sourceOffset = isExact ? offset : first
    return { isExact, sourceOffset, targetTopic, targetPartition, targetOffset: targetOffset + sourceOffset - first }
  }
  return undefined
}
