import { listSegments } from '../archive/indexes.ts'
import type { ManifestPartition, ManifestTopic, Segment } from '../archive/manifest.ts'
import { readSegment } from '../archive/segment-reader.ts'
import { type BatchHeader, codecOf } from '../batch/header.ts'
import { HeaderCursor } from '../batch/header-cursor.ts'
import { giveBackMemory } from '../lib/recycled-memory.ts'
import { checkBatches } from '../restore/check-batches.ts'
import { indexAborted, isVisible } from '../restore/pieces.ts'
import type { Storage } from '../storage/storage.ts'
import type { Extent, FoundRecord } from './found-record.ts'
import { type BatchWatch, type ExtentPiece, max, openPiece, type PartitionRecords } from './open-piece.ts'
import { noVerdicts, type VerdictList } from './verdicts.ts'

/** Reads the index of a partition. Nothing else is read before `readForward` or `readNewest`. */
export async function openPartition(
  storage: Storage,
  topic: ManifestTopic,
  partition: ManifestPartition,
  { offsets, times, withAborted }: Extent,
  watch: BatchWatch,
  signal: AbortSignal,
): Promise<PartitionRecords> {
  const all = await listSegments(storage, topic, partition, signal)
  const segments = all.filter(segment => {
    const { start_offset, end_offset, last_timestamp } = segment
    if (offsets.end !== undefined && start_offset >= offsets.end) return false
    if (offsets.start !== undefined && end_offset <= offsets.start) return false
    // The first time does not bound the others, so that the end of a window tells nothing. The last one does not bound markers.
    const isBounded = last_timestamp !== null && !(withAborted && mayHaveMarkers(segment))
    return times.start === undefined || !isBounded || last_timestamp >= times.start
  })
  const aborted = indexAborted([...all.flatMap(one => one.aborted ?? []), ...partition.open_aborted])
  return { topic: topic.name, partition: partition.partition, watch, segments, aborted }
}

/** Markers have offsets, and are not counted as records. */
function mayHaveMarkers({ start_offset, end_offset, records }: Segment): boolean {
  return BigInt(records) < end_offset - start_offset
}

/** In the order of their offsets. Each batch is compared with its checksum: by the sieve, if there is one and it may leave the batch out. */
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
    ahead?.note(opened, verdicts.count)
    onRead(piece.bytes.length, piece.end)
    // Records of batches that are not compressed may be a part of it.
    if (opened === 0 || isPacked(piece)) giveBackMemory(piece.bytes)
  }
}

async function* asTheyCome(pieces: AsyncGenerator<ExtentPiece>): AsyncGenerator<{
  piece: ExtentPiece
  verdicts: VerdictList
}> {
  for await (const piece of pieces) yield { piece, verdicts: noVerdicts }
}

function isPacked({ bytes, positions }: ExtentPiece): boolean {
  const header = new HeaderCursor(bytes)
  return positions.every(position => codecOf(header.moveTo(position).attributes) !== 'none')
}

async function* readPieces(
  storage: Storage,
  { aborted, watch }: PartitionRecords,
  segments: readonly Segment[],
  extent: Extent,
  signal: AbortSignal,
): AsyncGenerator<ExtentPiece> {
  const isBeyond = ({ baseOffset }: BatchHeader) => extent.offsets.end !== undefined && baseOffset >= extent.offsets.end
  const isShown = (header: BatchHeader) => extent.withAborted || isVisible(header, aborted)
  for (const segment of segments) {
    let [next, beyond] = [0n, 0]
    // Offsets are outside the checksum. Where each batch begins where the one before it ends, none is wrong.
    let isGapless = true
    let follows: bigint | undefined
    for await (const bytes of readSegment(storage, segment, signal)) {
      const [positions, whole]: [number[], number[]] = [[], []]
      let [isWanted, mayBeLeftOut] = [false, false]
      // A header that its checksum does not confirm yet: what it leads to is used only after that.
      const isSifted = (header: BatchHeader) => {
        isWanted = !isBeyond(header) && mayHold(header, extent) && isShown(header)
        mayBeLeftOut = isWanted && isWhole(header, extent, segment)
        return mayBeLeftOut && watch.ahead !== undefined
      }
      const note = (header: BatchHeader) => {
        if (isWanted) positions.push(header.position)
        if (mayBeLeftOut) whole.push(header.position)
        const { baseOffset, lastOffset } = header
        isGapless &&= follows === undefined ? baseOffset <= segment.start_offset : baseOffset === follows
        if (isBeyond(header)) beyond++
        follows = lastOffset + 1n
      }
      next = checkBatches(bytes, segment, next, note, isSifted)
      yield { segment, bytes, positions, whole, end: next }
      // Behind a gap, only the hash of the whole segment tells whether the offsets are right; two batches in order tell of most damage.
      if (isGapless ? beyond > 0 : watch.trustsGaps && beyond > 1) break
    }
  }
}

function mayHold({ lastOffset, maxTimestamp, recordCount }: BatchHeader, { offsets, times }: Extent): boolean {
  if (recordCount === 0) return false
  if (offsets.start !== undefined && lastOffset < offsets.start) return false
  return times.start === undefined || maxTimestamp >= times.start
}

/** All records of the batch are in the extent, as far as its header tells. */
function isWhole({ baseOffset, lastOffset }: BatchHeader, { offsets, times }: Extent, segment: Segment): boolean {
  const isInside = baseOffset >= max(segment.start_offset, offsets.start)
  const endsInside = offsets.end === undefined || lastOffset < offsets.end
  return isInside && endsInside && times.start === undefined && times.end === undefined
}
