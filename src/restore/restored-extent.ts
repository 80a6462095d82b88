import type { Segment } from '../archive/manifest.ts'
import { earlier, later } from '../archive/scalars.ts'
import { type BatchHeader, isLogAppendTime } from '../batch/header.ts'
import { isWithin, type TimeWindow } from '../batch/needs.ts'
import { decodeRecords, firstTimestamp, type KafkaRecord } from '../batch/records.ts'
import { hasCode } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { indexAborted, readPieces } from './pieces.ts'
import type { PlannedLeg } from './plan.ts'

/** What of a topic is restored: the times of its records as far as they are known, and the size of its largest partition. */
export interface RestoredExtent {
  oldest: bigint | null
  newest: bigint | null
  largestBytes: number
  /** A filter may leave out the newest records. */
  isFiltered?: boolean
}

export const nothingRestored: RestoredExtent = { oldest: null, newest: null, largestBytes: 0 }

export function joinExtents(one: RestoredExtent, other: RestoredExtent): RestoredExtent {
  return {
    oldest: earlier(one.oldest, other.oldest),
    newest: later(one.newest, other.newest),
    largestBytes: Math.max(one.largestBytes, other.largestBytes),
    ...((one.isFiltered || other.isFiltered) && { isFiltered: true }),
  }
}

/**
 * Of one partition, not of all that the backup holds of it. A segment that a range of offsets or the end of a window goes
 * through is read, since its times may be those of records that are not wanted: the newest record before the end may be
 * much older than the end.
 */
export async function extentOf(
  storage: Storage,
  leg: PlannedLeg,
  segments: readonly Segment[],
  window: TimeWindow,
  signal: AbortSignal,
): Promise<RestoredExtent> {
  const wanted = segments.filter(segment => segment.end_offset > leg.start && segment.start_offset < leg.end)
  let extent = nothingRestored
  for (const segment of wanted) {
    const isCut = segment.start_offset < leg.start || segment.end_offset > leg.end || goesThrough(segment, window)
    const times = isCut ? await tryTimes(storage, segment, segments, leg, window, signal) : clip(segment, window)
    const largestBytes = extent.largestBytes + (times.newest === null ? 0 : segment.plain_size)
    extent = { oldest: earlier(extent.oldest, times.oldest), newest: later(extent.newest, times.newest), largestBytes }
  }
  return extent
}

type Times = Pick<RestoredExtent, 'oldest' | 'newest'>

const noTimes: Times = { oldest: null, newest: null }

function goesThrough({ first_timestamp: first, last_timestamp: last }: Segment, { end }: TimeWindow): boolean {
  return end !== undefined && first !== null && last !== null && first < end && last >= end
}

/** Records without a time have a negative one. */
function clip({ first_timestamp: first, last_timestamp: last }: Segment, { start, end }: TimeWindow): Times {
  if (first === null || last === null || last < 0n) return noTimes
  const oldest = start !== undefined && first < start ? start : first
  const newest = end !== undefined && last >= end ? end - 1n : last
  return oldest > newest ? noTimes : { oldest: oldest < 0n ? newest : oldest, newest }
}

/** Damage inside a segment is reported when its turn comes. */
async function tryTimes(...args: Parameters<typeof readTimes>): Promise<Times> {
  try {
    return await readTimes(...args)
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    const [, segment, , , window] = args
    return clip(segment, window)
  }
}

async function readTimes(
  storage: Storage,
  segment: Segment,
  all: readonly Segment[],
  { source, start, end }: PlannedLeg,
  timeWindow: TimeWindow,
  signal: AbortSignal,
): Promise<Times> {
  const aborted = indexAborted([...all.flatMap(one => one.aborted ?? []), ...source.open_aborted])
  const limits = { maxBytes: Number.POSITIVE_INFINITY, fromOffset: start, timeWindow }
  let { oldest, newest } = noTimes
  for await (const { batches } of readPieces(storage, segment, { start, end, aborted, limits }, signal)) {
    // One batch at a time: those of a piece together may become many times its size.
    for (const header of batches) {
      for (const { offset, timestamp } of timesIn(batches.bytes, header, { start, end, timeWindow })) {
        const isWanted = offset >= start && offset < end && timestamp >= 0n && isWithin(timestamp, timeWindow)
        if (!isWanted) continue
        oldest = earlier(oldest, timestamp)
        newest = later(newest, timestamp)
      }
    }
  }
  return { oldest, newest }
}

type Range = Pick<PlannedLeg, 'start' | 'end'> & { timeWindow: TimeWindow }

/**
 * A batch that no bound goes through is not opened, because opening all of them would take longer than the restore: its first time
 * then counts as its earliest, as it does in the index of a segment. The same holds for a batch that cannot be decoded, which the restore
 * may still send as it is.
 */
function timesIn(bytes: Buffer, header: BatchHeader, range: Range): Pick<KafkaRecord, 'offset' | 'timestamp'>[] {
  const { baseOffset, lastOffset, baseTimestamp, maxTimestamp } = header
  const timesOf = (first: bigint) => [
    { offset: baseOffset, timestamp: first },
    { offset: lastOffset, timestamp: maxTimestamp },
  ]
  try {
    const first = firstTimestamp(bytes, header)
    if (first === null || isLogAppendTime(header.attributes)) return decodeRecords(bytes, header)
    return isInside(header, first, range) ? timesOf(first) : decodeRecords(bytes, header)
  } catch (error) {
    if (!hasCode(error, 'BATCH_INVALID')) throw error
    return timesOf(baseTimestamp)
  }
}

function isInside({ baseOffset, lastOffset, maxTimestamp }: BatchHeader, first: bigint, range: Range): boolean {
  const { start, end, timeWindow } = range
  return baseOffset >= start && lastOffset < end && isWithin(first, timeWindow) && isWithin(maxTimestamp, timeWindow)
}
