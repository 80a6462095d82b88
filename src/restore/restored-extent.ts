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
  /** The latest that it can be, where `newestLeast` is given. */
  newest: bigint | null
  /** The earliest that `newest` can be, where the end of a window goes through segments that were not read. */
  newestLeast?: bigint | null
  largestBytes: number
  /** A filter may leave out the newest records. */
  isFiltered?: boolean
  /** Other partitions of the topic are filled by other shards, or were by earlier runs. */
  isPart?: boolean
  /** Of all partitions of the topic, where that was read. */
  newestOfAll?: bigint | null
}

export const nothingRestored: RestoredExtent = { oldest: null, newest: null, largestBytes: 0 }

export function joinExtents(one: RestoredExtent, other: RestoredExtent): RestoredExtent {
  return {
    oldest: earlier(one.oldest, other.oldest),
    ...joinNewest(one, other),
    largestBytes: Math.max(one.largestBytes, other.largestBytes),
    ...((one.isFiltered || other.isFiltered) && { isFiltered: true }),
    ...((one.isPart || other.isPart) && { isPart: true }),
  }
}

function joinNewest(one: Times, other: Times): Pick<RestoredExtent, 'newest' | 'newestLeast'> {
  const newest = later(one.newest, other.newest)
  if (one.newestLeast === undefined && other.newestLeast === undefined) return { newest }
  const leastOf = ({ newest, newestLeast = newest }: Times) => newestLeast
  return { newest, newestLeast: later(leastOf(one), leastOf(other)) }
}

/**
 * Of one partition, not of all that the backup holds of it. A segment that a range of offsets goes through is read, since
 * its times may be those of records that are not wanted. So is one that the end of a window goes through, where the extent has to
 * be exact or its first time is not that of a record that is restored: the newest record before the end may be much older than the end.
 */
export async function extentOf(
  storage: Storage,
  leg: PlannedLeg,
  segments: readonly Segment[],
  { window, isExact }: { window: TimeWindow; isExact: boolean },
  signal: AbortSignal,
): Promise<RestoredExtent> {
  const wanted = segments.filter(segment => segment.end_offset > leg.start && segment.start_offset < leg.end)
  let extent = nothingRestored
  for (const segment of wanted) {
    const known = timesWithoutReading(segment, leg, window)
    const isKnown = known && (!isExact || known.newestLeast === undefined)
    const times = isKnown ? known : await tryTimes(storage, segment, segments, leg, window, signal)
    const largestBytes = extent.largestBytes + (times.newest === null ? 0 : segment.plain_size)
    extent = { oldest: earlier(extent.oldest, times.oldest), ...joinNewest(extent, times), largestBytes }
  }
  return extent
}

type Times = Pick<RestoredExtent, 'oldest' | 'newest' | 'newestLeast'>

/** Pure. What the index tells of the times of a segment's records that are restored; undefined where only reading them does. */
function timesWithoutReading(segment: Segment, leg: PlannedLeg, window: TimeWindow): Times | undefined {
  if (segment.start_offset < leg.start || segment.end_offset > leg.end) return undefined
  const clipped = clip(segment, window)
  if (!goesThrough(segment, window)) return clipped
  const { first_timestamp: first } = segment
  const { source } = leg
  const mayBeRolledBack = source.aborted_records > 0 || source.open_aborted.length > 0
  // The first batch of a log, or behind a gap, may begin with records that were deleted.
  const isBehindGap = source.gaps.some(({ to }) => to === segment.start_offset)
  const mayBeDeleted = isBehindGap || (source.start_offset > 0n && segment.start_offset === source.start_offset)
  if (first === null || first < 0n || !isWithin(first, window)) return undefined
  return !mayBeRolledBack && !mayBeDeleted ? { ...clipped, newestLeast: first } : undefined
}

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
