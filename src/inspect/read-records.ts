import { listSegments } from '../archive/indexes.ts'
import type { ManifestPartition, ManifestTopic, Segment } from '../archive/manifest.ts'
import { readSegment } from '../archive/segment-reader.ts'
import { openBody, openBodyAside } from '../batch/compression.ts'
import { type BatchHeader, codecOf, isControl, isTransactional } from '../batch/header.ts'
import { decodeMarker, eachRecord, type KafkaRecord } from '../batch/records.ts'
import { giveBackMemory } from '../lib/recycled-memory.ts'
import { walkSegment } from '../restore/check-batches.ts'
import { type AbortedIndex, indexAborted, isVisible } from '../restore/pieces.ts'
import type { Storage } from '../storage/storage.ts'
import type { Verdict } from './sieve.ts'
import type { SiftAhead, SiftedPiece, Verdicts } from './sift-ahead.ts'

/** A record of a backup, and what a reader of committed data makes of it. */
export interface FoundRecord extends KafkaRecord {
  topic: string
  partition: number
  /** `plain` is outside of a transaction. A marker ends a transaction; consumers never see it. */
  transaction: 'plain' | 'committed' | 'aborted' | 'commit marker' | 'abort marker' | 'other marker'
}

/** What is read of a partition. Ends are exclusive. */
export interface Extent {
  offsets: { start?: bigint | undefined; end?: bigint | undefined }
  /** Milliseconds since 1970. */
  times: { start?: bigint | undefined; end?: bigint | undefined }
  /** Also what was rolled back, and markers. */
  withAborted: boolean
}

/** What a reading asks and tells of each batch. */
export interface BatchWatch {
  /** Whether a record of it may be wanted, if all are in the extent; `body` is what it holds, unpacked. */
  mayMatch(body: Buffer, header: BatchHeader): boolean
  /** The same by what was found ahead. */
  judge(verdict: Verdict): boolean
  /** Whether a record of the extent is certainly not wanted. Without it, all are returned. */
  excludes?(record: KafkaRecord): boolean
  /** Awaited before each batch that is opened; everything before it was looked at. */
  beforeBatch?(header: BatchHeader): Promise<void>
  /** Undefined where nothing can be found ahead. */
  ahead: SiftAhead | undefined
  /** So many records of the extent were looked at. */
  onSearched(records: number): void
  /** So many bytes were read, and everything before the offset was looked at. */
  onRead(bytes: number, end: bigint): void
}

/** A list of segments of one partition, of which something may be wanted. */
export interface PartitionRecords {
  topic: string
  partition: number
  watch: BatchWatch
  segments: readonly Segment[]
  aborted: AbortedIndex
}

/** Reads the index of a partition. Nothing else is read before `readForward` or `readNewest`. */
export async function openPartition(
  storage: Storage,
  topic: ManifestTopic,
  partition: ManifestPartition,
  { offsets, times }: Extent,
  watch: BatchWatch,
  signal: AbortSignal,
): Promise<PartitionRecords> {
  const all = await listSegments(storage, topic, partition, signal)
  const segments = all.filter(
    ({ start_offset, end_offset, last_timestamp }) =>
      (offsets.end === undefined || start_offset < offsets.end) &&
      (offsets.start === undefined || end_offset > offsets.start) &&
      // The first time does not bound the others, so that the end of a window tells nothing.
      (times.start === undefined || last_timestamp === null || last_timestamp >= times.start),
  )
  const aborted = indexAborted([...all.flatMap(one => one.aborted ?? []), ...partition.open_aborted])
  return { topic: topic.name, partition: partition.partition, watch, segments, aborted }
}

/** In the order of their offsets. Each batch is compared with its checksum. */
export async function* readForward(
  storage: Storage,
  source: PartitionRecords,
  extent: Extent,
  signal: AbortSignal,
): AsyncGenerator<FoundRecord> {
  yield* readSegments(storage, source, source.segments, extent, signal)
}

/**
 * What is kept of the last records, at most `count`, in the order of their offsets: `keep` returns undefined for one that is not
 * wanted, and must not return parts of the batch. Segments are read from the last one on, until there are enough.
 */
export async function readNewest<T extends object>(
  storage: Storage,
  source: PartitionRecords,
  extent: Extent,
  { count, keep }: { count: number; keep: (record: FoundRecord) => Promise<T | undefined> },
  signal: AbortSignal,
): Promise<T[]> {
  let newest: T[] = []
  for (const segment of source.segments.toReversed()) {
    const found: T[] = []
    for await (const record of readSegments(storage, source, [segment], extent, signal)) {
      const kept = await keep(record)
      if (kept === undefined) continue
      found.push(kept)
      if (found.length >= 2 * count) found.splice(0, found.length - count)
    }
    newest = [...found, ...newest].slice(-count)
    if (newest.length === count) break
  }
  return newest
}

/** The bytes of a record are a part of its batch, which must not stay in memory for its sake. */
export function detached(record: FoundRecord): FoundRecord {
  const copy = (bytes: Buffer | null) => bytes && Buffer.from(bytes)
  const headers = record.headers.map(([name, bytes]): [string, Buffer | null] => [name, copy(bytes)])
  return { ...record, key: copy(record.key), value: copy(record.value), headers }
}

/** Some batches of a segment, in which records of the extent are. */
interface ExtentPiece extends SiftedPiece {
  segment: Segment
  headers: readonly BatchHeader[]
  /** Behind the last of its batches, whether or not they are in the extent. */
  end: bigint
}

async function* readSegments(
  storage: Storage,
  source: PartitionRecords,
  segments: readonly Segment[],
  extent: Extent,
  signal: AbortSignal,
): AsyncGenerator<FoundRecord> {
  const pieces = readPieces(storage, source, segments, extent, signal)
  const { ahead, onRead } = source.watch
  for await (const { piece, verdicts } of ahead ? ahead.over(pieces) : asTheyCome(pieces)) {
    const opened = yield* openPiece(piece, verdicts, source, extent)
    ahead?.note(opened, verdicts.size)
    onRead(piece.bytes.length, piece.end)
    // Records of batches that are not compressed may be a part of it.
    if (opened === 0 || piece.headers.every(({ attributes }) => codecOf(attributes) !== 'none'))
      giveBackMemory(piece.bytes)
  }
}

async function* asTheyCome(pieces: AsyncGenerator<ExtentPiece>): AsyncGenerator<{
  piece: ExtentPiece
  verdicts: Verdicts
}> {
  for await (const piece of pieces) yield { piece, verdicts: new Map() }
}

async function* readPieces(
  storage: Storage,
  { aborted }: PartitionRecords,
  segments: readonly Segment[],
  extent: Extent,
  signal: AbortSignal,
): AsyncGenerator<ExtentPiece> {
  const isBeyond = ({ baseOffset }: BatchHeader) => extent.offsets.end !== undefined && baseOffset >= extent.offsets.end
  const isShown = (header: BatchHeader) => extent.withAborted || isVisible(header, aborted)
  for (const segment of segments) {
    let next = 0n
    for await (const bytes of readSegment(storage, segment, signal)) {
      const all = walkSegment(bytes, segment, next)
      next = (all.at(-1)?.lastOffset ?? next - 1n) + 1n
      const headers = all.filter(header => !isBeyond(header) && mayHold(header, extent) && isShown(header))
      const whole = headers.filter(header => isWhole(header, extent, segment))
      yield { segment, bytes, headers, whole, end: next }
      if (all.some(isBeyond)) break
    }
  }
}

/** As many as the runtime unpacks at the same time. */
const OPENED_AT_ONCE = 4
/** Of each of them. A batch that holds more is opened alone. */
const MAX_AT_ONCE_BYTES = 8 << 20
/** Handing a smaller batch to another thread takes longer than unpacking it. */
const SMALL_BATCH_BYTES = 16 << 10

/** Returns how many batches were opened. */
async function* openPiece(
  piece: ExtentPiece,
  verdicts: Verdicts,
  source: PartitionRecords,
  extent: Extent,
): AsyncGenerator<FoundRecord, number> {
  const { bytes, whole, segment } = piece
  const { watch } = source
  const judged = new Set(whole)
  const isLeftOut = (header: BatchHeader, body?: Buffer): boolean => {
    const verdict = verdicts.get(header)
    if (!judged.has(header) || (verdict === undefined && body === undefined)) return false
    if (verdict ? watch.judge(verdict) : !body || watch.mayMatch(body, header)) return false
    watch.onSearched(header.recordCount)
    return true
  }
  let opened = 0
  let at = 0
  while (at < piece.headers.length) {
    const some: { header: BatchHeader; opening: Promise<Buffer | undefined> }[] = []
    for (; at < piece.headers.length && some.length < OPENED_AT_ONCE; at++) {
      const header = piece.headers[at]
      if (header && !isLeftOut(header)) some.push({ header, opening: openOne(bytes, header) })
    }
    opened += some.length
    for (const { header, opening } of some) {
      if (watch.beforeBatch) await watch.beforeBatch(header)
      const body = (await opening) ?? openBody(bytes, header)
      // The schemas that records before it have named may be known by now.
      if (!isLeftOut(header, body)) yield* recordsOf(bytes, body, header, source, segment, extent)
    }
  }
  return opened
}

/** Undefined where it holds too much to be opened together with others, and where it cannot be opened. */
async function openOne(bytes: Buffer, header: BatchHeader): Promise<Buffer | undefined> {
  try {
    return header.sizeBytes < SMALL_BATCH_BYTES
      ? openBody(bytes, header, MAX_AT_ONCE_BYTES)
      : await openBodyAside(bytes, header, MAX_AT_ONCE_BYTES)
  } catch {
    return undefined
  }
}

function mayHold({ lastOffset, maxTimestamp, recordCount }: BatchHeader, { offsets, times }: Extent): boolean {
  if (recordCount === 0) return false
  if (offsets.start !== undefined && lastOffset < offsets.start) return false
  return times.start === undefined || maxTimestamp >= times.start
}

function* recordsOf(
  bytes: Buffer,
  body: Buffer,
  header: BatchHeader,
  { topic, partition, aborted, watch }: PartitionRecords,
  segment: Segment,
  extent: Extent,
): Generator<FoundRecord> {
  const transaction = stateOf(bytes, header, aborted)
  const isWithin = withinOf(extent, segment)
  for (const record of eachRecord(body, header)) {
    if (!isWithin(record.offset, record.timestamp)) continue
    watch.onSearched(1)
    if (watch.excludes?.(record)) continue
    yield { topic, partition, transaction, ...record }
  }
}

type Within = (offset: bigint, timestamp: bigint) => boolean

function withinOf({ offsets, times }: Extent, segment: Segment): Within {
  // DeleteRecords may have cut the log inside the first batch.
  const start = max(segment.start_offset, offsets.start)
  return (offset, timestamp) =>
    offset >= start &&
    (offsets.end === undefined || offset < offsets.end) &&
    (times.start === undefined || timestamp >= times.start) &&
    (times.end === undefined || timestamp < times.end)
}

/** All records of the batch are in the extent, as far as its header tells. */
function isWhole({ baseOffset, lastOffset }: BatchHeader, { offsets, times }: Extent, segment: Segment): boolean {
  const isInside = baseOffset >= max(segment.start_offset, offsets.start)
  const endsInside = offsets.end === undefined || lastOffset < offsets.end
  return isInside && endsInside && times.start === undefined && times.end === undefined
}

function stateOf(bytes: Buffer, header: BatchHeader, aborted: AbortedIndex): FoundRecord['transaction'] {
  if (isControl(header.attributes)) return `${decodeMarker(bytes, header)} marker`
  if (!isTransactional(header.attributes)) return 'plain'
  return isVisible(header, aborted) ? 'committed' : 'aborted'
}

function max(one: bigint, other: bigint | undefined): bigint {
  return other !== undefined && other > one ? other : one
}
