import { type BatchHeader, isLogAppendTime } from './header.ts'

/** Times in [start, end); a bound that is absent does not limit. */
export interface TimeWindow {
  start?: bigint
  end?: bigint
}

export function isWithin(time: bigint, { start, end }: TimeWindow): boolean {
  return (start === undefined || time >= start) && (end === undefined || time < end)
}

export function hasBound({ start, end }: TimeWindow): boolean {
  return start !== undefined || end !== undefined
}

export interface BatchLimits {
  /** The largest batch, header included, that the target takes. */
  maxBytes: number
  /** The first offset that is wanted. */
  fromOffset?: bigint
  timeWindow?: TimeWindow
  /**
   * A time that no record of the batch lies before, where the caller knows one. The first time of a segment in its index is
   * none: that is the least of the batches' first records.
   */
  knownMin?: bigint
}

/** With `empty` and `outside` nothing is left of the batch; it need not be opened to know that. */
export type RebuildReason = 'empty' | 'outside' | 'holes' | 'log-append-time' | 'oversize' | 'cut'

/**
 * Why the batch cannot be sent as it is; undefined when it can. Only its header is looked at. A broker refuses a new
 * batch whose offsets have gaps. In a LogAppendTime batch the records hold the producers' times, which the target would
 * show instead of the broker's.
 */
export function needsRebuild(header: BatchHeader, limits: BatchLimits): RebuildReason | undefined {
  if (header.recordCount === 0) return 'empty'
  const place = containmentOf(header, limits)
  if (place === 'outside') return 'outside'
  if (!isDense(header)) return 'holes'
  if (isLogAppendTime(header.attributes)) return 'log-append-time'
  if (header.sizeBytes > limits.maxBytes) return 'oversize'
  return place === 'inside' ? undefined : 'cut'
}

/** Whether every offset of the batch's range has a record. */
export function isDense(header: BatchHeader): boolean {
  return header.recordCount === Number(header.lastOffset - header.baseOffset) + 1
}

/** Where all records of the batch lie; `open` when only they can tell. */
type Containment = 'inside' | 'outside' | 'open'

function containmentOf(header: BatchHeader, { fromOffset, timeWindow, knownMin }: BatchLimits): Containment {
  const byTime = timeWindow === undefined ? 'inside' : placeInWindow(header, timeWindow, knownMin)
  if (byTime === 'outside' || fromOffset === undefined || header.baseOffset >= fromOffset) return byTime
  return header.lastOffset < fromOffset ? 'outside' : 'open'
}

/**
 * What the header proves about the times of the records. It holds their maximum, which Kafka computes itself when it
 * takes a batch. It does not hold their minimum: the base timestamp is the first record's time (or a delete horizon), and
 * later records may be older. So without more knowledge
 *
 *   max < start             all are outside
 *   max < end, no start     all are inside
 *
 * and anything else is open. The minimum is known where all times are the maximum (LogAppendTime, a single record), and
 * bounded where the caller knows a bound; then also
 *
 *   min >= end                   all are outside
 *   min >= start and max < end   all are inside
 */
export function placeInWindow(header: BatchHeader, { start, end }: TimeWindow, knownMin?: bigint): Containment {
  const max = header.maxTimestamp
  const min = isLogAppendTime(header.attributes) || header.recordCount === 1 ? max : knownMin
  if (start !== undefined && max < start) return 'outside'
  if (end !== undefined && min !== undefined && min >= end) return 'outside'
  const startsInside = start === undefined || (min !== undefined && min >= start)
  const endsInside = end === undefined || max < end
  return startsInside && endsInside ? 'inside' : 'open'
}
