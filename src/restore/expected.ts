import type { Segment } from '../archive/manifest.ts'
import { hasBound, type TimeWindow } from '../batch/needs.ts'
import { legsFrom, ownShare, type SourcePosition, startOf } from './legs.ts'
import type { PlannedLeg, PlannedStream } from './plan.ts'

/** What of a partition is still to be written. */
interface Expected {
  records: number
  /** As the backup holds them. */
  bytes: number
  /**
   * A range or a window cuts the partition, or keys spread what a resume has left, so that it takes the data itself to
   * know.
   */
  isEstimate: boolean
  /** It is the most that there can be: only a window makes it less. */
  isMost: boolean
}

/**
 * Pure: from the manifest alone, from that place on. What was rolled back is not restored. Where keys decide, it is an
 * equal share of what goes to all partitions.
 */
export function expectStream(stream: PlannedStream, from: SourcePosition, timeWindow: TimeWindow): Expected {
  const expected = legsFrom(stream, from).map(leg => expectLeg(leg, timeWindow))
  const isBegun = isBehind(from, startOf(stream))
  const isSpread = isBegun && stream.keyedAmong !== undefined
  return {
    records: ownShare(
      stream,
      sum(expected, ({ records }) => records),
    ),
    bytes: ownShare(
      stream,
      sum(expected, ({ bytes }) => bytes),
    ),
    isEstimate: expected.some(({ isEstimate }) => isEstimate) || isSpread,
    isMost: expected.every(({ isMost }) => isMost) && !isSpread,
  }
}

/**
 * The same, closer. Where the manifest says it exactly, nothing is read: of many partitions the segments take more memory than the plan.
 * At a window it is the most that there can be.
 */
export async function countStream(
  stream: PlannedStream,
  from: SourcePosition,
  timeWindow: TimeWindow,
  segmentsOf: (leg: PlannedLeg) => Promise<readonly Segment[]>,
): Promise<number> {
  const expected = expectStream(stream, from, timeWindow)
  if (!expected.isEstimate) return expected.records
  let total = 0
  for (const leg of legsFrom(stream, from)) total += countRecords(await segmentsOf(leg), leg, timeWindow)
  return ownShare(stream, total)
}

function expectLeg({ source, start, end }: PlannedLeg, timeWindow: TimeWindow): Expected {
  const share = shareOf({ start: source.start_offset, end: source.end_offset }, { start, end })
  if (share === 0 || isOutside(source, timeWindow)) return { records: 0, bytes: 0, isEstimate: false, isMost: true }
  return {
    records: Math.round((source.records - source.aborted_records) * share),
    bytes: Math.round(source.bytes * share),
    isEstimate: share < 1 || hasBound(timeWindow),
    isMost: share === 1,
  }
}

export function countRecords(
  segments: readonly Segment[],
  range: { start: bigint; end: bigint },
  timeWindow: TimeWindow,
): number {
  const inWindow = segments.filter(segment => !isOutside(segment, timeWindow))
  return sum(inWindow, segment => {
    const share = shareOf({ start: segment.start_offset, end: segment.end_offset }, range)
    return Math.round((segment.records - segment.aborted_records) * share)
  })
}

function isBehind(one: SourcePosition, other: SourcePosition): boolean {
  if (one.sourcePartition !== other.sourcePartition) return one.sourcePartition > other.sourcePartition
  return one.sourceOffset > other.sourceOffset
}

/** How much of `whole` lies in `part`, from 0 to 1. */
export function shareOf(whole: { start: bigint; end: bigint }, part: { start: bigint; end: bigint }): number {
  const length = Number(whole.end - whole.start)
  const from = Math.max(0, Number(part.start - whole.start))
  const to = Math.min(length, Number(part.end - whole.start))
  return to <= from ? 0 : (to - from) / length
}

/** The last time bounds all records; the first one does not (see `Segment`), so that the end of a window tells nothing. */
export function isOutside({ last_timestamp: last }: { last_timestamp: bigint | null }, { start }: TimeWindow): boolean {
  return start !== undefined && last !== null && last < start
}

function sum<T>(items: readonly T[], pick: (item: T) => number): number {
  return items.reduce((total, item) => total + pick(item), 0)
}
