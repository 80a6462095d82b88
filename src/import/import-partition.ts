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
import { decodeOsoSegment, type OsoRecord } from './oso-segment.ts'

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
    ...segments.map(segment => ({ from: segment.start_offset, to: segment.end_offset + 1n, segment })),
    ...gaps.map(({ start_offset, end_offset }) => ({ from: start_offset, to: end_offset })),
  ]
  return steps.filter(({ from, to }) => from < to).sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0))
}

/** Writes the records of one partition as segments of this program. A segment that cannot be read becomes a gap. */
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
  for (const step of steps) {
    if (step.to <= partition.end_offset) {
      counts.duplicates += step.segment?.record_count ?? 0
      continue
    }
    const read = step.segment ? await tryRead(places.from, step.segment, counts, signal) : undefined
    if (!read) {
      const reason = step.segment ? 'damaged' : 'retention'
      partition = withGap(partition, { from: partition.end_offset, to: step.to, reason, found_at: places.foundAt })
      continue
    }
    const records = prepare(read, partition.end_offset, counts)
    noteHoles(topic, partition.end_offset, step.to, records.length, counts)
    if (records.length === 0) continue
    const segment = await writeSegment(topic, partition, records, step.to, places, signal)
    segments.push(segment)
    partition = withSegment(partition, segment, -1, [])
  }
  const { end_offset: end } = partition
  return { partition: { ...partition, high_watermark: end, last_stable_offset: end }, segments }
}

async function tryRead(
  storage: Storage,
  { key, record_count, sha256 }: OsoSegment,
  counts: ImportCounts,
  signal: AbortSignal,
): Promise<OsoRecord[] | undefined> {
  try {
    const bytes = await storage.read(key, signal)
    if (sha256 && createHash('sha256').update(bytes).digest('hex') !== sha256.toLowerCase()) {
      throw new KafkaBackupError('ARCHIVE_DAMAGED', `${key}: its hash is not that of the manifest`)
    }
    const records = decodeOsoSegment(bytes, key)
    if (records.length === record_count) return records
    throw new KafkaBackupError(
      'ARCHIVE_DAMAGED',
      `${key}: it holds ${records.length} records instead of ${record_count}`,
    )
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'STORAGE_NOT_FOUND', 'STORAGE_SHORT')) throw error
    counts.damaged.push(error.message)
    return undefined
  }
}

/** In ascending order, each offset once, without the headers that the other program added. */
function prepare(read: readonly OsoRecord[], from: bigint, counts: ImportCounts): OsoRecord[] {
  let next = from
  const prepared: OsoRecord[] = []
  for (const one of read.toSorted((a, b) => (a.offset < b.offset ? -1 : a.offset > b.offset ? 1 : 0))) {
    if (one.offset < next) {
      counts.duplicates++
      continue
    }
    const { record, removed } = withoutAddedHeaders(one)
    counts.addedHeaders += removed
    next = record.offset + 1n
    prepared.push(record)
  }
  counts.records += prepared.length
  return prepared
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
