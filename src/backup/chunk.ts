import type { AbortedTransaction } from '../archive/manifest.ts'
import { type ChunkFacts, earlier, later } from '../archive/segment-writer.ts'
import { decodeMarker } from '../batch/control.ts'
import { hasValidCrc } from '../batch/crc.ts'
import { type BatchHeader, codecOf, isControl, isTransactional } from '../batch/header.ts'
import { countRecordsFrom } from '../batch/records.ts'
import { walkBatches } from '../batch/walk.ts'
import { KafkaBackupError } from '../errors.ts'

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
}

/** Whole batches from the position up to the end; undefined where there is none. A batch across the end is kept whole. */
export function cutChunk(bytes: Buffer, range: { start: number; end: number }, position: bigint, end: bigint): Chunk | undefined {
  const headers = walkBatches(bytes, range.start, range.end).filter(
    header => header.lastOffset >= position && header.baseOffset < end,
  )
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
    startOffset: position,
    nextOffset: last.lastOffset + 1n,
    lastEpoch: last.leaderEpoch,
    mostlyPlain: plainBytes * 2 > totalBytes,
  }
}

/**
 * Checks every batch's checksum and sums the chunk up. `aborted` is the broker's list of rolled-back transactions for this
 * very answer; one whose marker is met ends there, the others are still open where the chunk ends.
 */
export function examineChunk(
  bytes: Buffer,
  chunk: Chunk,
  aborted: readonly { producerId: bigint; firstOffset: bigint }[],
  where: string,
): { facts: ChunkFacts; openAborted: AbortedTransaction[] } {
  const waiting = aborted.toSorted((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1))
  const open = new Map<bigint, bigint>()
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
    openTransactions(waiting, open, header.lastOffset)
    if (isControl(header.attributes)) closeTransaction(bytes, header, open, facts)
    else countData(bytes, header, open, facts)
  }
  return { facts, openAborted: stillOpen(open) }
}

function badChecksum(where: string, header: BatchHeader): KafkaBackupError {
  return new KafkaBackupError('SOURCE_CORRUPT', `${where}: the batch at offset ${header.baseOffset} has a wrong CRC-32C`)
}

function openTransactions(
  waiting: { producerId: bigint; firstOffset: bigint }[],
  open: Map<bigint, bigint>,
  upTo: bigint,
): void {
  for (let next = waiting[0]; next && next.firstOffset <= upTo; next = waiting[0]) {
    open.set(next.producerId, next.firstOffset)
    waiting.shift()
  }
}

function closeTransaction(bytes: Buffer, header: BatchHeader, open: Map<bigint, bigint>, facts: ChunkFacts): void {
  if (!open.has(header.producerId) || decodeMarker(bytes, header) !== 'abort') return
  const first_offset = open.get(header.producerId) ?? header.baseOffset
  facts.aborted.push({ producer_id: header.producerId, first_offset, last_offset: header.lastOffset })
  open.delete(header.producerId)
}

function countData(bytes: Buffer, header: BatchHeader, open: Map<bigint, bigint>, facts: ChunkFacts): void {
  const count = countRecordsFrom(bytes, header, facts.startOffset)
  facts.records += count
  if (isTransactional(header.attributes) && open.has(header.producerId)) facts.abortedRecords += count
  if (header.recordCount === 0) return
  facts.firstTimestamp = earlier(facts.firstTimestamp, header.baseTimestamp)
  facts.lastTimestamp = later(facts.lastTimestamp, header.maxTimestamp)
}

function stillOpen(open: Map<bigint, bigint>): AbortedTransaction[] {
  return [...open].map(([producer_id, first_offset]) => ({ producer_id, first_offset, last_offset: null }))
}
