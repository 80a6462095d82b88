import type { AbortedTransaction, LastBatch } from '../archive/manifest.ts'
import { earlier, later } from '../archive/scalars.ts'
import type { ChunkFacts } from '../archive/segment-writer.ts'
import { openBody } from '../batch/compression.ts'
import { crcOf, hasValidCrc } from '../batch/crc.ts'
import { type BatchHeader, codecOf, crcAt, hasDeleteHorizon, isControl, isTransactional } from '../batch/header.ts'
import { countRecordsFrom, decodeMarker, firstTimestamp } from '../batch/records.ts'
import { walkBatches } from '../batch/walk.ts'
import { KafkaBackupError } from '../errors.ts'
import type { OldRecords } from '../kafka/convert-old-parts.ts'

/** The batches of one partition out of one answer, cut to what the plan asked for. */
export interface Chunk {
  headers: BatchHeader[]
  /** The first offset that counts: the first batch may begin below it. */
  startOffset: bigint
  /** Where the next fetch begins. */
  nextOffset: bigint
  lastEpoch: number
  /** More than half of the bytes were not compressed by their producer. */
  mostlyPlain: boolean
  /** What of the answer was converted; absent where nothing was. */
  converted?: OldRecords
}

/** Of the batches of an answer, those from the position up to the end; undefined where there is none. A batch across the end is kept whole. */
export function cutChunk(
  answered: readonly BatchHeader[],
  start: bigint,
  end: bigint,
  converted?: OldRecords,
): Chunk | undefined {
  const headers = answered.filter(header => header.lastOffset >= start && header.baseOffset < end)
  const last = headers.at(-1)
  if (!last) return undefined
  let plainBytes = 0
  let totalBytes = 0
  for (const header of headers) {
    totalBytes += header.sizeBytes
    if (codecOf(header.attributes) === 'none') plainBytes += header.sizeBytes
  }
  return {
    headers,
    startOffset: start,
    nextOffset: last.lastOffset + 1n,
    lastEpoch: last.leaderEpoch,
    mostlyPlain: plainBytes * 2 > totalBytes,
    ...(converted && { converted }),
  }
}

/**
 * The batches of an answer, which must follow each other. Offsets lie outside a batch's checksum: one that is wrong would
 * have its batch left out, or taken twice, without a word.
 */
export function walkAnswer(bytes: Buffer, range: { start: number; end: number }, where: string): BatchHeader[] {
  let headers: BatchHeader[]
  try {
    headers = walkBatches(bytes, range.start, range.end)
  } catch (cause) {
    if (!(cause instanceof KafkaBackupError)) throw cause
    // Invalid bytes may be caused by the network, like a wrong checksum; the old format is a fact.
    const code = cause.code === 'BATCH_INVALID' ? 'SOURCE_CORRUPT' : cause.code
    throw new KafkaBackupError(code, `${where}: ${cause.message}`, { cause })
  }
  let next = headers[0]?.baseOffset ?? 0n
  for (const { baseOffset, lastOffset, recordCount } of headers) {
    if (baseOffset < next || lastOffset < baseOffset || recordCount < 0) {
      const message = `${where}: the batch of ${recordCount} records from offset ${baseOffset} to ${lastOffset} cannot be`
      throw new KafkaBackupError('SOURCE_CORRUPT', message, { details: { offset: baseOffset } })
    }
    next = lastOffset + 1n
  }
  return headers
}

/** The chunk up to where its batches fill `roomBytes`, and what is left of it. At least one batch goes first. */
export function splitChunk(chunk: Chunk, roomBytes: number): { head: Chunk; tail: Chunk | undefined } {
  let filled = 0
  const count = chunk.headers.findIndex(header => {
    filled += header.sizeBytes
    return filled >= roomBytes
  })
  const last = chunk.headers[count]
  if (!last || count === chunk.headers.length - 1) return { head: chunk, tail: undefined }
  const nextOffset = last.lastOffset + 1n
  return {
    head: { ...chunk, headers: chunk.headers.slice(0, count + 1), nextOffset, lastEpoch: last.leaderEpoch },
    tail: { ...chunk, headers: chunk.headers.slice(count + 1), startOffset: nextOffset },
  }
}

/** Checks every batch's checksum and sums the chunk up. */
export function examineChunk(bytes: Buffer, chunk: Chunk, tracker: AbortTracker, where: string): ChunkFacts {
  const facts: ChunkFacts = {
    startOffset: chunk.startOffset,
    endOffset: chunk.nextOffset,
    batches: chunk.headers.length,
    records: 0,
    abortedRecords: 0,
    firstTimestamp: null,
    lastTimestamp: null,
    aborted: [],
  }
  for (const header of chunk.headers) {
    if (!hasValidCrc(bytes, header.position, header.sizeBytes)) throw badChecksum(where, header)
    tracker.advance(header.lastOffset)
    if (isControl(header.attributes)) noteMarker(bytes, header, tracker, facts)
    else countData(bytes, header, tracker, facts)
  }
  return facts
}

function badChecksum(where: string, header: BatchHeader): KafkaBackupError {
  return new KafkaBackupError(
    'SOURCE_CORRUPT',
    `${where}: the batch at offset ${header.baseOffset} has a wrong CRC-32C`,
    { details: { offset: header.baseOffset } },
  )
}

function noteMarker(bytes: Buffer, header: BatchHeader, tracker: AbortTracker, facts: ChunkFacts): void {
  if (!tracker.isAborted(header.producerId) || decodeMarker(bytes, header) !== 'abort') return
  const aborted = tracker.close(header.producerId, header.lastOffset)
  if (aborted) facts.aborted.push(aborted)
}

function countData(bytes: Buffer, header: BatchHeader, tracker: AbortTracker, facts: ChunkFacts): void {
  const count = countRecordsFrom(bytes, header, facts.startOffset)
  facts.records += count
  if (isTransactional(header.attributes) && tracker.isAborted(header.producerId)) facts.abortedRecords += count
  if (header.recordCount === 0) return
  facts.firstTimestamp = earlier(facts.firstTimestamp, firstTimestamp(bytes, header))
  facts.lastTimestamp = later(facts.lastTimestamp, header.maxTimestamp)
}

/** What a backup remembers of the last batch that it stored. */
export function markOf(bytes: Buffer, header: BatchHeader | undefined): LastBatch | undefined {
  if (!header) return undefined
  return { base_offset: header.baseOffset, records: header.recordCount, crc: contentCrc(bytes, header) }
}

/** `gone`: compaction has removed the batch, or changed it, so that nothing can be said. */
export type TailVerdict = 'same' | 'other' | 'gone'

/**
 * Pure. Whether the source still has the batch that was stored last, which ends before `position`. A source that was rolled
 * back may be in the same leader epoch again when it has grown, so epochs alone do not tell. What compaction does to a batch
 * is not a difference: it removes records or the whole batch, and marks batches with tombstones.
 */
export function judgeTail(
  bytes: Buffer,
  headers: readonly BatchHeader[],
  tail: LastBatch,
  position: bigint,
  mayBeCompacted = true,
): TailVerdict {
  const found = batchBefore(headers, position)
  if (!found) return mayBeCompacted ? 'gone' : 'other'
  const hasFewer = found.recordCount < tail.records
  // What was a message of an old format begins with the first record that compaction has left.
  const isShortened = hasFewer && isOfNoEpoch(found) && found.baseOffset > tail.base_offset
  const isThere = found.baseOffset === tail.base_offset || isShortened
  if (!isThere || found.lastOffset !== position - 1n) return 'other'
  if (crcAt(bytes, found.position) === tail.crc || contentCrc(bytes, found) === tail.crc) return 'same'
  const isCompacted = hasFewer || hasDeleteHorizon(found.attributes)
  return isCompacted && mayBeCompacted ? 'gone' : 'other'
}

/** Pure. The batch that holds the last offset before the position. */
function batchBefore(headers: readonly BatchHeader[], position: bigint): BatchHeader | undefined {
  return headers.find(({ baseOffset, lastOffset }) => baseOffset < position && lastOffset >= position - 1n)
}

/**
 * Pure. Of the transactions that an answer lists as rolled back, those that concern what follows the position. The answer
 * also lists one that ended right before it, where the batch before the position is its marker.
 */
export function abortedFrom(
  headers: readonly BatchHeader[],
  position: bigint,
  aborted: readonly AbortedStart[],
): readonly AbortedStart[] {
  const before = batchBefore(headers, position)
  if (!before || !isControl(before.attributes)) return aborted
  const hasEnded = ({ producerId, firstOffset }: AbortedStart) =>
    producerId === before.producerId && firstOffset < before.baseOffset
  return aborted.filter(one => !hasEnded(one))
}

function isOfNoEpoch({ leaderEpoch }: BatchHeader): boolean {
  return leaderEpoch < 0
}

/**
 * A checksum of the batch that the source would have again. Where records were converted from an old format, the checksum
 * in the header also depends on the version of the library that compressed them.
 */
function contentCrc(bytes: Buffer, header: BatchHeader): number {
  const isConverted = isOfNoEpoch(header) && codecOf(header.attributes) !== 'none'
  return isConverted ? crcOf(openBody(bytes, header)) : crcAt(bytes, header.position)
}

export interface AbortedStart {
  producerId: bigint
  firstOffset: bigint
}

/** Never changed: without a list nothing is opened. */
const noneOpen = new Map<bigint, bigint>()
const noneWaiting: AbortedStart[] = []

/**
 * Tells which batches of one answer belong to transactions that were rolled back. The broker lists those that touch the
 * answer by producer and first offset; each is open from there to the producer's next abort marker.
 */
export class AbortTracker {
  /** One for all: most batches belong to no such transaction. */
  static readonly none: AbortedTransaction[] = []
  readonly #waiting: AbortedStart[]
  readonly #open: Map<bigint, bigint>

  constructor(listed: readonly AbortedStart[]) {
    // Most answers list none, and there is one tracker for each partition of a round.
    this.#open = listed.length === 0 ? noneOpen : new Map()
    this.#waiting =
      listed.length === 0 ? noneWaiting : listed.toSorted((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1))
  }

  /** Moves on to the batch that ends here. Batches are met in the order of their offsets. */
  advance(lastOffset: bigint): void {
    for (let next = this.#waiting[0]; next && next.firstOffset <= lastOffset; next = this.#waiting[0]) {
      this.#open.set(next.producerId, next.firstOffset)
      this.#waiting.shift()
    }
  }

  isAborted(producerId: bigint): boolean {
    return this.#open.has(producerId)
  }

  /** Ends the producer's transaction at its abort marker; undefined where none of its was rolled back. */
  close(producerId: bigint, markerOffset: bigint): AbortedTransaction | undefined {
    const first_offset = this.#open.get(producerId)
    if (first_offset === undefined) return undefined
    this.#open.delete(producerId)
    return { producer_id: producerId, first_offset, last_offset: markerOffset }
  }

  /** Rolled back, with a marker that lies further on. */
  get open(): AbortedTransaction[] {
    if (this.#open.size === 0) return AbortTracker.none
    return [...this.#open].map(([producer_id, first_offset]) => ({ producer_id, first_offset, last_offset: null }))
  }
}

/** The chunk's bytes, cut at batch ends into pieces of about `pieceBytes`. */
export function cutPieces(bytes: Buffer, headers: readonly BatchHeader[], pieceBytes: number): Buffer[] {
  const pieces: Buffer[] = []
  let start = headers[0]?.position ?? 0
  let end = start
  for (const header of headers) {
    end = header.position + header.sizeBytes
    if (end - start < pieceBytes) continue
    pieces.push(bytes.subarray(start, end))
    start = end
  }
  if (end > start) pieces.push(bytes.subarray(start, end))
  return pieces
}
