import type { AbortedTransaction, Segment } from '../archive/manifest.ts'
import { readSegment } from '../archive/segment-reader.ts'
import { hasValidCrc } from '../batch/crc.ts'
import { type BatchHeader, isControl, isTransactional } from '../batch/header.ts'
import { leastTime } from '../batch/least-time.ts'
import { type BatchLimits, needsRebuild, type TimeWindow } from '../batch/needs.ts'
import { type MergeLimits, planMerges } from '../batch/plan-merges.ts'
import { rebuildBatches } from '../batch/rebuild.ts'
import type { EditRecord } from '../batch/record-editor.ts'
import { walkBatches } from '../batch/walk.ts'
import { KafkaBackupError } from '../errors.ts'
import { readAhead } from '../lib/read-ahead.ts'
import type { Storage } from '../storage/storage.ts'

/** A batch that is ready to be stamped and sent. */
export interface Outgoing {
  bytes: Buffer
  recordCount: number
  /** The source offsets of its records, in order. */
  runs: readonly OffsetRun[]
  /** Why it was opened and written anew; absent where it is sent as it was stored. */
  conversion?: Conversion
}

/**
 * `cut` is by a range, a window, the start of a log or a restore that goes on inside a batch. Of several reasons the
 * first of these counts.
 */
export type Conversion = 'holes' | 'log_append_time' | 'oversize' | 'cut' | 'headers' | 'merged'

export interface OffsetRun {
  sourceOffset: bigint
  count: number
}

export interface OutgoingOptions {
  /** For messages. */
  name: string
  segments: readonly Segment[]
  openAborted: readonly AbortedTransaction[]
  start: bigint
  end: bigint
  timeWindow: TimeWindow
  /** The largest batch that the target takes. */
  maxBytes: number
  /** What small batches are merged to. */
  batchBytes: number
  edit?: EditRecord
}

/** Below this a request of its own costs more than opening the batch; packing anew is what costs most. */
const SMALL_BYTES = 32 << 10
const SMALL_PACKED_BYTES = 4 << 10

/**
 * The records of a partition that a reader of committed data would see, from the archive, as batches: as they were stored
 * where that can be, opened and written anew where it must be.
 */
export async function* readOutgoing(
  storage: Storage,
  options: OutgoingOptions,
  signal: AbortSignal,
): AsyncGenerator<Outgoing> {
  const aborted = indexAborted([...options.segments.flatMap(segment => segment.aborted ?? []), ...options.openAborted])
  for (const segment of options.segments) {
    if (segment.end_offset <= options.start || segment.start_offset >= options.end) continue
    const start = latest(segment.start_offset, options.start)
    for await (const bytes of readAhead(readSegment(storage, segment, signal))) {
      const headers = walkBatches(bytes, 0, bytes.length).filter(header => {
        if (!hasValidCrc(bytes, header.position, header.sizeBytes)) throw damaged(segment, header)
        return header.lastOffset >= start && header.baseOffset < options.end && isVisible(header, aborted)
      })
      yield* convert(bytes, headers, { ...options, start })
    }
  }
}

function* convert(bytes: Buffer, headers: readonly BatchHeader[], options: OutgoingOptions): Generator<Outgoing> {
  const { start, timeWindow, maxBytes, batchBytes } = options
  const limits = { maxBytes, fromOffset: start, ...(hasBound(timeWindow) && { timeWindow }) }
  const kept = headers.filter(header => !['empty', 'outside'].includes(needsRebuild(header, limits) ?? ''))
  for (const group of planMerges(kept, mergeLimits(batchBytes))) {
    const some = kept.slice(group.start, group.start + group.count)
    const [only] = some
    const edit = editOf(some, options)
    if (only && some.length === 1 && !edit && staysAsStored(bytes, only, limits)) {
      yield asStored(bytes, only)
      continue
    }
    const conversion = conversionOf(some, limits, options)
    const sources = some.map(header => ({ bytes, header }))
    const shared = { maxBytes, targetBytes: batchBytes, codec: 'keep' as const, fromOffset: start }
    const window = hasBound(timeWindow) ? { timeWindow } : {}
    for (const batch of rebuildBatches(sources, { ...shared, ...window, ...(edit && { edit }) })) {
      if (batch.isOversize) throw oversize(options, batch.runs[0]?.sourceOffset, batch.bytes.length)
      yield { bytes: batch.bytes, recordCount: batch.recordCount, runs: batch.runs, conversion }
    }
  }
}

function mergeLimits(batchBytes: number): MergeLimits {
  const smallBytes = Math.min(SMALL_BYTES, batchBytes / 4)
  return { targetBytes: batchBytes, smallBytes, smallPackedBytes: Math.min(SMALL_PACKED_BYTES, smallBytes) }
}

/**
 * A header tells the latest time of its records, and only they tell the earliest. Looking for it is cheaper than packing
 * them anew, and is done where the first record lies in the window, too.
 */
function staysAsStored(bytes: Buffer, header: BatchHeader, limits: BatchLimits): boolean {
  if (needsRebuild(header, limits) !== 'cut') return needsRebuild(header, limits) === undefined
  const staysWith = (knownMin: bigint) => needsRebuild(header, { ...limits, knownMin }) === undefined
  if (!staysWith(header.baseTimestamp)) return false
  const earliest = leastTime(bytes, header)
  return earliest !== null && staysWith(earliest)
}

function conversionOf(
  headers: readonly BatchHeader[],
  limits: BatchLimits,
  { edit, end }: OutgoingOptions,
): Conversion {
  const needs = new Set(headers.map(header => needsRebuild(header, limits)))
  if (needs.has('holes')) return 'holes'
  if (needs.has('log-append-time')) return 'log_append_time'
  if (needs.has('oversize')) return 'oversize'
  if (needs.has('cut') || headers.some(({ lastOffset }) => lastOffset >= end)) return 'cut'
  return edit ? 'headers' : 'merged'
}

/** Every record must be looked at where something is added, or where the range ends inside a batch. */
function editOf(headers: readonly BatchHeader[], { edit, end }: OutgoingOptions): EditRecord | undefined {
  const isCut = headers.some(header => header.lastOffset >= end)
  if (!isCut) return edit
  return record => (record.offset >= end ? 'drop' : edit?.(record))
}

function asStored(bytes: Buffer, header: BatchHeader): Outgoing {
  return {
    bytes: bytes.subarray(header.position, header.position + header.sizeBytes),
    recordCount: header.recordCount,
    runs: [{ sourceOffset: header.baseOffset, count: header.recordCount }],
  }
}

/** Markers, and what was rolled back, were never seen by anybody. */
function isVisible(header: BatchHeader, aborted: AbortedIndex): boolean {
  if (isControl(header.attributes)) return false
  if (!isTransactional(header.attributes)) return true
  const own = aborted.get(header.producerId) ?? []
  // A producer has one transaction at a time: the last one that begins at or before the batch is the one that counts.
  let low = 0
  for (let high = own.length; low < high; ) {
    const middle = (low + high) >> 1
    if ((own[middle]?.first_offset ?? 0n) <= header.baseOffset) low = middle + 1
    else high = middle
  }
  const last = own[low - 1]
  return !last || (last.last_offset !== null && header.lastOffset > last.last_offset)
}

/** By producer, in the order of their first offsets: there may be as many as batches. */
type AbortedIndex = ReadonlyMap<bigint, readonly AbortedTransaction[]>

function indexAborted(aborted: readonly AbortedTransaction[]): AbortedIndex {
  const sorted = aborted.toSorted((a, b) => (a.first_offset < b.first_offset ? -1 : 1))
  return Map.groupBy(sorted, ({ producer_id }) => producer_id)
}

function latest(first: bigint, second: bigint): bigint {
  if (second > first) return second
  return first
}

function hasBound({ start, end }: TimeWindow): boolean {
  return start !== undefined || end !== undefined
}

function damaged(segment: Segment, header: BatchHeader): KafkaBackupError {
  return new KafkaBackupError(
    'ARCHIVE_DAMAGED',
    `${segment.key}: the batch at offset ${header.baseOffset} has a wrong CRC-32C`,
  )
}

function oversize({ name, maxBytes }: OutgoingOptions, offset: bigint | undefined, bytes: number): KafkaBackupError {
  const message = `${name}: the record at offset ${offset} makes a batch of ${bytes} bytes; the target takes ${maxBytes}`
  return new KafkaBackupError('RESTORE_REFUSED', message, {
    help: 'Raise `max.message.bytes` of the target topic, by `restore.topic_config` where the restore creates it.',
  })
}
