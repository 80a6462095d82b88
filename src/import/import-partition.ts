import { createHash } from 'node:crypto'
import { segmentKey } from '../archive/layout.ts'
import type { ManifestPartition, Segment } from '../archive/manifest.ts'
import { earlier, later } from '../archive/scalars.ts'
import { type ChunkFacts, SegmentWriter } from '../archive/segment-writer.ts'
import { emptyPartition, withGap, withSegment } from '../archive/summary.ts'
import { readHeader } from '../batch/header.ts'
import { firstTimestamp } from '../batch/records.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import type { ImportCounts } from './describe-losses.ts'
import { encodeRecords, withoutAddedHeaders } from './encode-records.ts'
import type { OsoPartition, OsoSegment } from './oso-manifest.ts'
import type { OsoRecord } from './oso-record.ts'
import { decodeOsoSegment } from './oso-segment.ts'

export interface ImportPlaces {
  from: Storage
  to: Storage
  backupId: string
  run: string
  foundAt: string
}

type Step = { from: bigint; to: bigint; segment?: OsoSegment }

/** Pure. Segments and recorded gaps in the order of their offsets; `to` is the first offset behind each. */
export function planPartition({ segments, gaps = [] }: OsoPartition): Step[] {
  const steps: Step[] = [
    ...segments.map(segment => ({ from: segment.start_offset, to: endOf(segment), segment })),
    ...gaps.map(({ start_offset, end_offset }) => ({ from: start_offset, to: end_offset })),
  ]
  return steps.filter(({ from, to }) => from < to).sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0))
}

/** One that ends before it begins is damaged: it is still read where it claims to have records, and reported. */
function endOf({ start_offset: start, end_offset: last, record_count }: OsoSegment): bigint {
  return last < start ? start + BigInt(record_count) : last + 1n
}

/** Records and lost ranges that are read and not written yet: a later segment may hold the same offsets. */
interface Unwritten {
  records: OsoRecord[]
  lost: { from: bigint; to: bigint; reason: 'damaged' | 'retention' }[]
  /** The first offset behind all segments that were read. */
  end: bigint
}

/**
 * Writes the records of one partition as segments of this program. Segments may overlap: a record is imported if any readable segment holds
 * it. A range becomes a gap only where no readable segment has records.
 */
export async function importPartition(
  topic: string,
  source: OsoPartition,
  places: ImportPlaces,
  counts: ImportCounts,
  signal: AbortSignal,
): Promise<{ partition: ManifestPartition; segments: Segment[] }> {
  const steps = planPartition(source)
  const segments: Segment[] = []
  let partition = emptyPartition(source.partition_id, steps[0]?.from ?? 0n)
  const unwritten: Unwritten = { records: [], lost: [], end: partition.end_offset }
  for (const [at, { from, to, segment }] of steps.entries()) {
    const read = segment ? await tryRead(places.from, segment, counts, signal) : undefined
    if (read) {
      unwritten.records = merge(unwritten.records, read, counts)
      if (to > unwritten.end) unwritten.end = to
    } else unwritten.lost.push({ from, to, reason: segment ? 'damaged' : 'retention' })
    // No later segment begins before this offset.
    const limit = steps[at + 1]?.from
    const rest = unwritten.records.findIndex(({ offset }) => limit !== undefined && offset >= limit)
    const ready = unwritten.records.splice(0, rest < 0 ? unwritten.records.length : rest)
    partition = addGaps(topic, partition, unwritten.lost, ready[0]?.offset ?? limit, places, counts)
    const last = ready.at(-1)
    if (!last) continue
    const end = last.offset + 1n
    noteHoles(topic, partition.end_offset, end, ready.length, counts)
    const written = await writeSegment(topic, partition, ready, end, places, signal)
    counts.records += ready.length
    segments.push(written)
    partition = withSegment(partition, written, -1, [])
  }
  const { end_offset: end } = partition
  noteHoles(topic, end, unwritten.end, 0, counts)
  return { partition: { ...partition, high_watermark: end, last_stable_offset: end }, segments }
}

/** Pure except for counts. Lost ranges become gaps up to `limit`, where the next record is or may be. */
function addGaps(
  topic: string,
  partition: ManifestPartition,
  lost: Unwritten['lost'],
  limit: bigint | undefined,
  { foundAt }: ImportPlaces,
  counts: ImportCounts,
): ManifestPartition {
  return lost.reduce((known, { from, to: end, reason }) => {
    const { end_offset: begin } = known
    const to = limit !== undefined && limit < end ? limit : end
    if (to <= begin) return known
    // The archive does not explain what lies in front of it, although the gap covers it.
    noteHoles(topic, begin, from, 0, counts)
    return withGap(known, { from: begin, to, reason, found_at: foundAt })
  }, partition)
}

async function tryRead(
  storage: Storage,
  { key, record_count, sha256, start_offset, end_offset }: OsoSegment,
  counts: ImportCounts,
  signal: AbortSignal,
): Promise<OsoRecord[] | undefined> {
  try {
    const bytes = await storage.read(key, signal)
    if (sha256 && createHash('sha256').update(bytes).digest('hex') !== sha256.toLowerCase()) {
      throw new KafkaBackupError('ARCHIVE_DAMAGED', `${key}: its hash is not that of the manifest`)
    }
    const records = decodeOsoSegment(bytes, key)
    if (records.length !== record_count) {
      throw new KafkaBackupError(
        'ARCHIVE_DAMAGED',
        `${key}: it holds ${records.length} records instead of ${record_count}`,
      )
    }
    const outside = records.find(({ offset }) => offset < start_offset || offset > end_offset)
    if (!outside) return records
    const range = `the offsets ${start_offset} to ${end_offset} that the manifest names`
    throw new KafkaBackupError('ARCHIVE_DAMAGED', `${key}: it holds offset ${outside.offset}, outside of ${range}`)
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'STORAGE_NOT_FOUND', 'STORAGE_SHORT')) throw error
    counts.damaged.push(error.message)
    return undefined
  }
}

/** In ascending order, each offset once, without the headers that the other program added. */
function merge(known: readonly OsoRecord[], read: readonly OsoRecord[], counts: ImportCounts): OsoRecord[] {
  const own = read.map(one => {
    const { record, removed } = withoutAddedHeaders(one)
    counts.addedHeaders += removed
    return record
  })
  const sorted = [...known, ...own].sort((a, b) => (a.offset < b.offset ? -1 : a.offset > b.offset ? 1 : 0))
  const merged = sorted.filter(({ offset }, at) => at === 0 || offset !== sorted[at - 1]?.offset)
  counts.duplicates += sorted.length - merged.length
  return merged
}

function noteHoles(topic: string, from: bigint, to: bigint, records: number, { holes }: ImportCounts): void {
  const missing = to - from - BigInt(records)
  if (missing > 0n) holes.set(topic, (holes.get(topic) ?? 0n) + missing)
}

/** The segment begins where the one before it ended: it covers the hole in front of its first record. */
async function writeSegment(
  topic: string,
  { partition, end_offset: startOffset }: ManifestPartition,
  records: readonly OsoRecord[],
  endOffset: bigint,
  { to, backupId, run }: ImportPlaces,
  signal: AbortSignal,
): Promise<Segment> {
  const batches = encodeRecords(records)
  const facts = {
    ...{ startOffset, endOffset, batches: batches.length, records: records.length, abortedRecords: 0, aborted: [] },
    ...timesOf(batches),
  }
  const writer = await SegmentWriter.open(
    to,
    segmentKey({ backupId, topic, partition }, startOffset, run, true),
    true,
    signal,
  )
  try {
    await writer.append(batches, facts, signal)
    return await writer.finish(signal)
  } catch (error) {
    await writer.abort()
    throw error
  }
}

/** As a backup counts them: the first time of each batch, and the largest. */
function timesOf(batches: readonly Buffer[]): Pick<ChunkFacts, 'firstTimestamp' | 'lastTimestamp'> {
  const headers = batches.map(bytes => ({ bytes, header: readHeader(bytes, 0) }))
  return {
    firstTimestamp: headers.map(({ bytes, header }) => firstTimestamp(bytes, header)).reduce(earlier, null),
    lastTimestamp: headers.map(({ header }) => header.maxTimestamp).reduce(later, null),
  }
}
