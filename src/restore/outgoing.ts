import type { AbortedTransaction, Segment } from '../archive/manifest.ts'
import type { BatchHeader, Codec } from '../batch/header.ts'
import { type BatchLimits, needsRebuild, type TimeWindow } from '../batch/needs.ts'
import { type MergeLimits, planMerges } from '../batch/plan-merges.ts'
import { Rebuilder, type RebuildOptions, rebuildBatches } from '../batch/rebuild.ts'
import type { EncodedRecord } from '../batch/record-cursor.ts'
import type { EditRecord } from '../batch/record-editor.ts'
import type { RebuiltBatch } from '../batch/seal.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import { readAhead } from '../lib/read-ahead.ts'
import type { Storage } from '../storage/storage.ts'
import { examinePieces, indexAborted, type Piece, readPieces } from './pieces.ts'

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
    const wanted = { start, end: options.end, aborted, limits: limitsOf({ ...options, start }) }
    const pieces = gathering
      ? readPieces(storage, segment, wanted, signal)
      : examinePieces(storage, segment, wanted, signal)
    for await (const piece of readAhead(pieces)) {
      if (gathering) yield* gather(gathering, piece, { ...options, start })
      else yield* convert(piece, { ...options, start })
    }
  }
  if (gathering) yield* gathering.flush().map(batch => asRebuilt(batch, options, 'repartitioned'))
}

function* convert({ bytes, headers, earliest }: Piece, options: OutgoingOptions): Generator<Outgoing> {
  const { start, timeWindow, maxBytes, batchBytes, codec = 'keep' } = options
  const limits = limitsOf(options)
  for (const group of planMerges(headers, mergeLimits(batchBytes))) {
    const some = headers.slice(group.start, group.start + group.count)
    const [only] = some
    const edit = editOf(some, options)
    if (only && some.length === 1 && !edit && staysAsStored(only, limits, earliest.get(only))) {
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

function staysAsStored(header: BatchHeader, limits: BatchLimits, knownMin: bigint | undefined): boolean {
  return needsRebuild(header, knownMin === undefined ? limits : { ...limits, knownMin }) === undefined
}

/** Takes the records that are wanted out of batch after batch, and makes full ones of them. */
function openGathering(options: OutgoingOptions, takes: (record: EncodedRecord) => boolean): Rebuilder {
  const { timeWindow, maxBytes, batchBytes, codec = 'keep', edit } = options
  const fixed: RebuildOptions = { maxBytes, targetBytes: batchBytes, codec, timeWindow, takes }
  return new Rebuilder({ ...fixed, ...(edit && { edit }) }, batchBytes)
}

function* gather(gathering: Rebuilder, { bytes, headers }: Piece, options: OutgoingOptions): Generator<Outgoing> {
  for (const header of headers) {
    const full = gathering.add({ bytes, header }, options)
    for (const batch of full) yield asRebuilt(batch, options, 'repartitioned')
  }
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

function latest(first: bigint, second: bigint): bigint {
  if (second > first) return second
  return first
}

function hasBound({ start, end }: TimeWindow): boolean {
  return start !== undefined || end !== undefined
}

function oversize({ name, maxBytes }: OutgoingOptions, offset: bigint | undefined, bytes: number): KafkaBackupError {
  const message = `${name}: the record at offset ${offset} makes a batch of ${bytes} bytes; the target takes ${maxBytes}`
  return new KafkaBackupError('RESTORE_REFUSED', message, {
    help: 'Raise `max.message.bytes` of the target topic, by `restore.topic_config` where the restore creates it.',
  })
}
