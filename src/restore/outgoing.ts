import type { AbortedTransaction, Segment } from '../archive/manifest.ts'
import { readSegment } from '../archive/segment-reader.ts'
import { hasValidCrc } from '../batch/crc.ts'
import { type BatchHeader, type Codec, isControl, isTransactional } from '../batch/header.ts'
import { leastTime } from '../batch/least-time.ts'
import { type BatchLimits, needsRebuild, type TimeWindow } from '../batch/needs.ts'
import { type MergeLimits, planMerges } from '../batch/plan-merges.ts'
import { Rebuilder, type RebuildOptions, rebuildBatches } from '../batch/rebuild.ts'
import type { EncodedRecord } from '../batch/record-cursor.ts'
import type { EditRecord } from '../batch/record-editor.ts'
import type { RebuiltBatch } from '../batch/seal.ts'
import { walkBatches } from '../batch/walk.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { readAhead } from '../lib/read-ahead.ts'
import type { Storage } from '../storage/storage.ts'

/** A batch that is ready to be stamped and sent. */
export interface Outgoing {
  bytes: Buffer
  recordCount: number
  sourcePartition: number
  /** The source offsets of its records, in order. */
  runs: readonly OffsetRun[]
  /** Why it was opened and written anew; absent where it is sent as it was stored. */
  conversion?: Conversion
}

/**
 * `cut` is by a range, a window, the start of a log or a restore that goes on inside a batch. Of several reasons the
 * first of these counts.
 */
export type Conversion = 'repartitioned' | 'holes' | 'log_append_time' | 'oversize' | 'cut' | 'headers' | 'merged'

export interface OffsetRun {
  sourceOffset: bigint
  count: number
}

export interface OutgoingOptions {
  /** For messages. */
  name: string
  sourcePartition: number
  segments: readonly Segment[]
  openAborted: readonly AbortedTransaction[]
  start: bigint
  end: bigint
  timeWindow: TimeWindow
  /** The largest batch that the target takes. */
  maxBytes: number
  /** What small batches are merged to. */
  batchBytes: number
  /** Of batches that are opened; their own where it is not given. */
  codec?: Codec
  /** Only such records. Every batch is opened then, and what is left of one is merged with what follows. */
  takes?: (record: EncodedRecord) => boolean
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
  try {
    yield* readAll(storage, options, signal)
  } catch (cause) {
    if (!(cause instanceof KafkaBackupError) || !hasCode(cause, 'BATCH_INVALID', 'BATCH_OLD_FORMAT')) throw cause
    throw new KafkaBackupError(cause.code, `${options.name}: ${cause.message}`, { cause })
  }
}

async function* readAll(storage: Storage, options: OutgoingOptions, signal: AbortSignal): AsyncGenerator<Outgoing> {
  const aborted = indexAborted([...options.segments.flatMap(segment => segment.aborted ?? []), ...options.openAborted])
  const gathering = options.takes && openGathering(options, options.takes)
  for (const segment of options.segments) {
    if (segment.end_offset <= options.start || segment.start_offset >= options.end) continue
    const start = latest(segment.start_offset, options.start)
    let next = 0n
    for await (const bytes of readAhead(readSegment(storage, segment, signal))) {
      const all = walkSegment(bytes, segment, next)
      next = (all.at(-1)?.lastOffset ?? next - 1n) + 1n
      const headers = all.filter(
        header => header.lastOffset >= start && header.baseOffset < options.end && isVisible(header, aborted),
      )
      if (gathering) yield* gather(gathering, bytes, headers, { ...options, start })
      else yield* convert(bytes, headers, { ...options, start })
    }
  }
  if (gathering) yield* gathering.flush().map(batch => asRebuilt(batch, options, 'repartitioned'))
}

/**
 * The batches of a piece, which must follow each other. Offsets lie outside a batch's checksum: one that is wrong would
 * have its batch left out, and a wrong place noted, from which a later run goes on when the segment is mended.
 */
function walkSegment(bytes: Buffer, segment: Segment, from: bigint): BatchHeader[] {
  const headers = walkBatches(bytes, 0, bytes.length)
  let next = from
  for (const header of headers) {
    if (!hasValidCrc(bytes, header.position, header.sizeBytes)) throw damaged(segment, header, 'has a wrong CRC-32C')
    const { baseOffset, lastOffset } = header
    const isInside = lastOffset >= segment.start_offset && lastOffset < segment.end_offset
    if (baseOffset < next || !isInside) throw damaged(segment, header, 'cannot be there')
    next = lastOffset + 1n
  }
  return headers
}

function* convert(bytes: Buffer, headers: readonly BatchHeader[], options: OutgoingOptions): Generator<Outgoing> {
  const { start, timeWindow, maxBytes, batchBytes, codec = 'keep' } = options
  const limits = limitsOf(options)
  const kept = leaveOut(headers, options)
  for (const group of planMerges(kept, mergeLimits(batchBytes))) {
    const some = kept.slice(group.start, group.start + group.count)
    const [only] = some
    const edit = editOf(some, options)
    if (only && some.length === 1 && !edit && staysAsStored(bytes, only, limits)) {
      yield asStored(bytes, only, options)
      continue
    }
    const conversion = conversionOf(some, limits, options)
    const sources = some.map(header => ({ bytes, header }))
    const fixed: RebuildOptions = { maxBytes, targetBytes: batchBytes, codec, fromOffset: start, timeWindow }
    const rebuilt = rebuildBatches(sources, { ...fixed, ...(edit && { edit }) })
    for (const batch of rebuilt) yield asRebuilt(batch, options, conversion)
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

/** Takes the records that are wanted out of batch after batch, and makes full ones of them. */
function openGathering(options: OutgoingOptions, takes: (record: EncodedRecord) => boolean): Rebuilder {
  const { timeWindow, maxBytes, batchBytes, codec = 'keep', edit } = options
  const fixed: RebuildOptions = { maxBytes, targetBytes: batchBytes, codec, timeWindow, takes }
  return new Rebuilder({ ...fixed, ...(edit && { edit }) }, batchBytes)
}

function* gather(
  gathering: Rebuilder,
  bytes: Buffer,
  headers: readonly BatchHeader[],
  options: OutgoingOptions,
): Generator<Outgoing> {
  for (const header of leaveOut(headers, options)) {
    const full = gathering.add({ bytes, header }, options)
    for (const batch of full) yield asRebuilt(batch, options, 'repartitioned')
  }
}

/** Those of which nothing can be wanted, which their headers tell. */
function leaveOut(headers: readonly BatchHeader[], options: OutgoingOptions): BatchHeader[] {
  const limits = limitsOf(options)
  return headers.filter(header => !['empty', 'outside'].includes(needsRebuild(header, limits) ?? ''))
}

function limitsOf({ start, timeWindow, maxBytes }: OutgoingOptions): BatchLimits {
  return { maxBytes, fromOffset: start, ...(hasBound(timeWindow) && { timeWindow }) }
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

function asRebuilt(
  { isOversize, bytes, recordCount, runs }: RebuiltBatch,
  options: OutgoingOptions,
  conversion: Conversion,
): Outgoing {
  if (isOversize) throw oversize(options, runs[0]?.sourceOffset, bytes.length)
  return { bytes, recordCount, sourcePartition: options.sourcePartition, runs, conversion }
}

function asStored(bytes: Buffer, header: BatchHeader, { sourcePartition }: OutgoingOptions): Outgoing {
  return {
    bytes: bytes.subarray(header.position, header.position + header.sizeBytes),
    recordCount: header.recordCount,
    sourcePartition,
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

/**
 * By producer, in the order of their first offsets: there may be as many as batches. Of one that is told twice, where a
 * gap of the backup cut it, the longer one comes last.
 */
type AbortedIndex = ReadonlyMap<bigint, readonly AbortedTransaction[]>

function indexAborted(aborted: readonly AbortedTransaction[]): AbortedIndex {
  const isBefore = (a: AbortedTransaction, b: AbortedTransaction) =>
    a.first_offset === b.first_offset
      ? a.last_offset !== null && (b.last_offset === null || a.last_offset < b.last_offset)
      : a.first_offset < b.first_offset
  const sorted = aborted.toSorted((a, b) => (isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : 0))
  return Map.groupBy(sorted, ({ producer_id }) => producer_id)
}

function latest(first: bigint, second: bigint): bigint {
  if (second > first) return second
  return first
}

function hasBound({ start, end }: TimeWindow): boolean {
  return start !== undefined || end !== undefined
}

function damaged({ key }: Segment, { baseOffset }: BatchHeader, why: string): KafkaBackupError {
  return new KafkaBackupError('ARCHIVE_DAMAGED', `${key}: the batch at offset ${baseOffset} ${why}`)
}

function oversize({ name, maxBytes }: OutgoingOptions, offset: bigint | undefined, bytes: number): KafkaBackupError {
  const message = `${name}: the record at offset ${offset} makes a batch of ${bytes} bytes; the target takes ${maxBytes}`
  return new KafkaBackupError('RESTORE_REFUSED', message, {
    help: 'Raise `max.message.bytes` of the target topic, by `restore.topic_config` where the restore creates it.',
  })
}
