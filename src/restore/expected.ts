import type { Segment } from '../archive/manifest.ts'
import type { TimeWindow } from '../batch/needs.ts'
import type { PlannedStream } from './plan.ts'

/** What of a partition is still to be written. */
export interface Expected {
  records: number
  /** As the backup holds them. */
  bytes: number
  /** A range or a window cuts the partition, so that it takes the data itself to know. */
  isEstimate: boolean
}

/** Pure: from the manifest alone, with the offsets from `from` on. What was rolled back is not restored. */
export function expectStream({ source, end }: PlannedStream, from: bigint, timeWindow: TimeWindow): Expected {
  const range = { start: source.start_offset, end: source.end_offset }
  const share = shareOf(range, { start: from, end })
  if (share === 0 || isOutside(source, timeWindow)) return { records: 0, bytes: 0, isEstimate: false }
  return {
    records: Math.round((source.records - source.aborted_records) * share),
    bytes: Math.round(source.bytes * share),
    isEstimate: share < 1 || hasBound(timeWindow),
  }
}

/** Pure: the same, closer, where the segments are known. At a window it is the most that there can be. */
export function countRecords(
  segments: readonly Segment[],
  range: { start: bigint; end: bigint },
  timeWindow: TimeWindow,
): number {
  return segments
    .filter(segment => !isOutside(segment, timeWindow))
    .reduce((sum, segment) => {
      const share = shareOf({ start: segment.start_offset, end: segment.end_offset }, range)
      return sum + Math.round((segment.records - segment.aborted_records) * share)
    }, 0)
}

/** How much of `whole` lies in `part`, from 0 to 1. */
function shareOf(whole: { start: bigint; end: bigint }, part: { start: bigint; end: bigint }): number {
  const length = Number(whole.end - whole.start)
  const from = Math.max(0, Number(part.start - whole.start))
  const to = Math.min(length, Number(part.end - whole.start))
  return to <= from ? 0 : (to - from) / length
}

/** The last time bounds all records; the first one does not (see `Segment`), so that the end of a window tells nothing. */
function isOutside({ last_timestamp: last }: { last_timestamp: bigint | null }, { start }: TimeWindow): boolean {
  return start !== undefined && last !== null && last < start
}

function hasBound({ start, end }: TimeWindow): boolean {
  return start !== undefined || end !== undefined
}
