import { listSegments } from '../archive/indexes.ts'
import type { ManifestPartition, ManifestTopic, Segment } from '../archive/manifest.ts'
import { readSegment } from '../archive/segment-reader.ts'
import { openBody, openBodyAside } from '../batch/compression.ts'
import { type BatchHeader, isControl, isTransactional } from '../batch/header.ts'
import { decodeMarker, eachRecord, type KafkaRecord } from '../batch/records.ts'
import { type AbortedIndex, indexAborted, isVisible, walkSegment } from '../restore/pieces.ts'
import type { Storage } from '../storage/storage.ts'

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
  /** So many records of the extent were looked at. */
  onSearched(records: number): void
  onRead(bytes: number): void
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
  for (const segment of source.segments) yield* readOne(storage, source, segment, extent, signal)
}

/**
 * The last records that `isWanted`, at most `count`, in the order of their offsets. Segments are read from the last one
 * on, until there are enough.
 */
export async function readNewest(
  storage: Storage,
  source: PartitionRecords,
  extent: Extent,
  { count, isWanted }: { count: number; isWanted: (record: FoundRecord) => Promise<boolean> },
  signal: AbortSignal,
): Promise<FoundRecord[]> {
  let newest: FoundRecord[] = []
  for (const segment of source.segments.toReversed()) {
    const found: FoundRecord[] = []
    for await (const record of readOne(storage, source, segment, extent, signal)) {
      if (!(await isWanted(record))) continue
      found.push(detached(record))
      if (found.length >= 2 * count) found.splice(0, found.length - count)
    }
    newest = [...found, ...newest].slice(-count)
    if (newest.length === count) break
  }
  return newest
}

/** The bytes of a record are a part of its batch, which must not stay in memory for its sake. */
function detached(record: FoundRecord): FoundRecord {
  const copy = (bytes: Buffer | null) => bytes && Buffer.from(bytes)
  const headers = record.headers.map(([name, bytes]): [string, Buffer | null] => [name, copy(bytes)])
  return { ...record, key: copy(record.key), value: copy(record.value), headers }
}

async function* readOne(
  storage: Storage,
  source: PartitionRecords,
  segment: Segment,
  extent: Extent,
  signal: AbortSignal,
): AsyncGenerator<FoundRecord> {
  let next = 0n
  for await (const bytes of readSegment(storage, segment, signal)) {
    const headers = walkSegment(bytes, segment, next)
    next = (headers.at(-1)?.lastOffset ?? next - 1n) + 1n
    const isBeyond = ({ baseOffset }: BatchHeader) =>
      extent.offsets.end !== undefined && baseOffset >= extent.offsets.end
    const isShown = (header: BatchHeader) => extent.withAborted || isVisible(header, source.aborted)
    const wanted = headers.filter(header => !isBeyond(header) && mayHold(header, extent) && isShown(header))
    for (let at = 0; at < wanted.length; at += OPENED_AT_ONCE) {
      const some = wanted.slice(at, at + OPENED_AT_ONCE)
      const opened = await Promise.all(some.map(async header => ({ header, body: await openOne(bytes, header) })))
      for (const { header, body } of opened) yield* recordsOf(bytes, body, header, source, segment, extent)
    }
    source.watch.onRead(bytes.length)
    if (headers.some(isBeyond)) return
  }
}

/** As many as the runtime unpacks at the same time. */
const OPENED_AT_ONCE = 4
/** Handing a smaller batch to another thread takes longer than unpacking it. */
const SMALL_BATCH_BYTES = 16 << 10

function openOne(bytes: Buffer, header: BatchHeader): Buffer | Promise<Buffer> {
  return header.sizeBytes < SMALL_BATCH_BYTES ? openBody(bytes, header) : openBodyAside(bytes, header)
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
  if (isWhole(header, extent, segment) && !watch.mayMatch(body, header)) {
    watch.onSearched(header.recordCount)
    return
  }
  const transaction = stateOf(bytes, header, aborted)
  const isWithin = withinOf(extent, segment)
  for (const record of eachRecord(body, header)) {
    if (!isWithin(record.offset, record.timestamp)) continue
    watch.onSearched(1)
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
