import type { Segment } from '../archive/manifest.ts'
import { openBody, openBodyAside } from '../batch/compression.ts'
import { type BatchHeader, isControl, isTransactional, readHeader } from '../batch/header.ts'
import { HeaderCursor } from '../batch/header-cursor.ts'
import { decodeMarker, eachRecord, type KafkaRecord } from '../batch/records.ts'
import { assertCrc } from '../restore/check-batches.ts'
import { type AbortedIndex, isVisible } from '../restore/pieces.ts'
import type { Extent, FoundRecord } from './found-record.ts'
import type { SiftAhead, SiftedPiece } from './sift-ahead.ts'
import type { Verdict, VerdictList } from './verdicts.ts'

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
  /** Does not read a segment with gaps to its end only to prove by its hash that no offset is damaged. */
  trustsGaps?: true
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

/** Some batches of a segment, in which records of the extent are. */
export interface ExtentPiece extends SiftedPiece {
  segment: Segment
  /** Where they begin: headers that are kept for many batches cost more than reading them again. */
  positions: readonly number[]
  /** Behind the last of its batches, whether or not they are in the extent. */
  end: bigint
}

/** As many as the runtime unpacks at the same time. */
const OPENED_AT_ONCE = 4
/** Of each of them. A batch that holds more is opened alone. */
const MAX_AT_ONCE_BYTES = 8 << 20
/** Handing a smaller batch to another thread takes longer than unpacking it. */
const SMALL_BATCH_BYTES = 16 << 10

/** A batch that is being opened. */
interface Opening {
  header: BatchHeader
  /** All its records are in the extent, so that it may be left out. */
  isJudged: boolean
  verdict: Verdict | undefined
  opening: Promise<Buffer | undefined>
}

/** Returns how many batches were opened. */
export async function* openPiece(
  piece: ExtentPiece,
  verdicts: VerdictList,
  source: PartitionRecords,
  extent: Extent,
): AsyncGenerator<FoundRecord, number> {
  const { bytes, positions, whole, segment } = piece
  const { watch } = source
  const isLeftOut = (header: BatchHeader, verdict: Verdict | undefined, body?: Buffer): boolean => {
    if (verdict === undefined && body === undefined) return false
    if (verdict ? watch.judge(verdict) : !body || watch.mayMatch(body, header)) return false
    watch.onSearched(header.recordCount)
    return true
  }
  const cursor = new HeaderCursor(bytes)
  let [at, judged, opened] = [0, 0, 0]
  while (at < positions.length) {
    const some: Opening[] = []
    for (; at < positions.length && some.length < OPENED_AT_ONCE; at++) {
      const position = positions[at] ?? 0
      const isJudged = whole[judged] === position
      const verdict = isJudged ? verdicts.next() : undefined
      if (isJudged) judged++
      if (isLeftOut(cursor.moveTo(position), verdict)) continue
      const header = readHeader(bytes, position)
      // A verdict is only given on a batch that equals its checksum.
      if (isJudged && watch.ahead && verdict === undefined) assertCrc(bytes, header, segment)
      some.push({ header, isJudged, verdict, opening: openOne(bytes, header) })
    }
    opened += some.length
    for (const { header, isJudged, verdict, opening } of some) {
      if (watch.beforeBatch) await watch.beforeBatch(header)
      const body = (await opening) ?? openBody(bytes, header)
      // The schemas that records before it have named may be known by now.
      const isOut = isJudged && isLeftOut(header, verdict, body)
      if (!isOut) yield* recordsOf(bytes, body, header, source, segment, extent)
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

function stateOf(bytes: Buffer, header: BatchHeader, aborted: AbortedIndex): FoundRecord['transaction'] {
  if (isControl(header.attributes)) return `${decodeMarker(bytes, header)} marker`
  if (!isTransactional(header.attributes)) return 'plain'
  return isVisible(header, aborted) ? 'committed' : 'aborted'
}

export function max(one: bigint, other: bigint | undefined): bigint {
  return other !== undefined && other > one ? other : one
}
