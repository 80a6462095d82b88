import type { AbortedTransaction, Segment } from '../archive/manifest.ts'
import { rangesOf } from '../archive/segment-chunks.ts'
import { readSegment } from '../archive/segment-reader.ts'
import { BatchList } from '../batch/batch-list.ts'
import { type BatchHeader, isControl, isTransactional, readHeader } from '../batch/header.ts'
import { type BatchLimits, needsRebuild, type RebuildReason } from '../batch/needs.ts'
import { leastTime } from '../batch/record-cursor.ts'
import { runPool } from '../lib/pool.ts'
import { RangesAhead, RequestLimit } from '../lib/ranges-ahead.ts'
import type { Storage } from '../storage/storage.ts'
import { checkBatches } from './check-batches.ts'

/** Some batches of a segment, checked, of which something may be wanted. */
export interface Piece {
  batches: BatchList
  /** Why batches cannot be sent as they are, by their positions, of those that cannot. */
  reasons: ReadonlyMap<number, RebuildReason>
  /** The earliest time of the records, of batches that were looked into, by their positions. */
  earliest: ReadonlyMap<number, bigint>
}

interface Wanted {
  /** Offsets in [start, end). */
  start: bigint
  end: bigint
  aborted: AbortedIndex
  limits: BatchLimits
}

/** Of all streams together. A stream that finds it reached reads its next piece when it needs it. */
const MAX_AHEAD_REQUESTS = 64
const aheadLimit = new RequestLimit(MAX_AHEAD_REQUESTS)

/** Reads these segments for `readPieces`, one after the other, so many bytes before they are needed. */
export function openAhead(
  storage: Storage,
  segments: readonly Segment[],
  aheadBytes: number | undefined,
  signal: AbortSignal,
): RangesAhead {
  return new RangesAhead(storage, rangesOf(segments), { maxBytes: aheadBytes ?? 0, limit: aheadLimit }, signal)
}

/** As many as the runtime unpacks at the same time. */
const LOOKS_AT_ONCE = 4

/** The batches that a reader of committed data would see. */
export async function* readPieces(
  storage: Pick<Storage, 'readRange'>,
  segment: Segment,
  { start, end, aborted, limits }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<Piece> {
  let next = 0n
  for await (const bytes of readSegment(storage, segment, signal)) {
    const positions: number[] = []
    const reasons = new Map<number, RebuildReason>()
    next = checkBatches(bytes, segment, next, header => {
      if (header.lastOffset < start || header.baseOffset >= end || !isVisible(header, aborted)) return
      const reason = needsRebuild(header, limits)
      if (reason === 'empty' || reason === 'outside') return
      positions.push(header.position)
      if (reason) reasons.set(header.position, reason)
    })
    yield { batches: new BatchList(bytes, positions), reasons, earliest: new Map() }
  }
}

/**
 * The same, with a look into the batches whose times may all lie in the window, or all outside. A header tells the latest time of its
 * records, and only they tell the earliest. Searching it is cheaper than decoding and recompressing them.
 */
export async function* examinePieces(
  storage: Pick<Storage, 'readRange'>,
  segment: Segment,
  wanted: Wanted,
  signal: AbortSignal,
): AsyncGenerator<Piece> {
  for await (const piece of readPieces(storage, segment, wanted, signal)) {
    yield wanted.limits.timeWindow ? await examine(piece, wanted.limits) : piece
  }
}

async function examine({ batches, reasons }: Piece, limits: BatchLimits): Promise<Piece> {
  const { bytes, positions } = batches
  const cut = positions.filter(position => reasons.get(position) === 'cut')
  const open = cut.map(position => readHeader(bytes, position)).filter(header => mayNotBeCut(header, limits))
  const earliest = new Map<number, bigint>()
  const outside = new Set<number>()
  await runPool(open, LOOKS_AT_ONCE, async header => {
    const knownMin = await leastTime(bytes, header)
    if (knownMin === null) return
    if (needsRebuild(header, { ...limits, knownMin }) === 'outside') outside.add(header.position)
    else earliest.set(header.position, knownMin)
  })
  const left =
    outside.size > 0
      ? new BatchList(
          bytes,
          positions.filter(position => !outside.has(position)),
        )
      : batches
  return { batches: left, reasons, earliest }
}

/** Where the others have the time of its first record, it lies in the window as a whole, or outside. */
function mayNotBeCut(header: BatchHeader, limits: BatchLimits): boolean {
  return needsRebuild(header, { ...limits, knownMin: header.baseTimestamp }) !== 'cut'
}

/** Markers, and what was rolled back, were never seen by anybody. */
export function isVisible(header: BatchHeader, aborted: AbortedIndex): boolean {
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
 * By producer, in the order of their first offsets: there may be as many as batches. If one occurs twice, because a
 * gap of the backup cut it, the longer one comes last.
 */
export type AbortedIndex = ReadonlyMap<bigint, readonly AbortedTransaction[]>

export function indexAborted(aborted: readonly AbortedTransaction[]): AbortedIndex {
  const isBefore = (a: AbortedTransaction, b: AbortedTransaction) =>
    a.first_offset === b.first_offset
      ? a.last_offset !== null && (b.last_offset === null || a.last_offset < b.last_offset)
      : a.first_offset < b.first_offset
  const sorted = aborted.toSorted((a, b) => (isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : 0))
  return Map.groupBy(sorted, ({ producer_id }) => producer_id)
}
