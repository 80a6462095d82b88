import { hasValidCrc } from '../batch/crc.ts'
import { type BatchHeader, isControl } from '../batch/header.ts'
import { countRecordsFrom, firstTimestamp } from '../batch/records.ts'
import { walkBatches } from '../batch/walk.ts'
import { hasCode } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { problemOf } from './damage.ts'
import type { Segment } from './manifest.ts'
import { earlier, later } from './scalars.ts'
import { readSegment } from './segment-reader.ts'

/** Reads the whole segment and holds every batch against the index: checksum, order of offsets, counts, times. */
export async function checkSegment(storage: Storage, segment: Segment, signal: AbortSignal): Promise<string[]> {
  const problems: string[] = []
  const found: Found = {
    position: segment.start_offset,
    batches: 0,
    records: 0,
    firstTimestamp: null,
    lastTimestamp: null,
  }
  try {
    for await (const bytes of readSegment(storage, segment, signal)) checkBatches(bytes, segment, found, problems)
  } catch (error) {
    // Zeros in the place of a batch look like the oldest format.
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW', 'BATCH_INVALID', 'BATCH_OLD_FORMAT')) throw error
    return [...problems, problemOf(error, segment.key)]
  }
  return [...problems, ...compare(segment, found)]
}

interface Found {
  position: bigint
  batches: number
  records: number
  firstTimestamp: bigint | null
  lastTimestamp: bigint | null
}

function checkBatches(bytes: Buffer, segment: Segment, found: Found, problems: string[]): void {
  for (const header of walkBatches(bytes, 0, bytes.length)) {
    const where = `the batch at offset ${header.baseOffset}`
    if (!hasValidCrc(bytes, header.position, header.sizeBytes)) problems.push(`${where} has a wrong CRC-32C`)
    const overlaps = (found.batches > 0 ? header.baseOffset : header.lastOffset) < found.position
    if (overlaps) problems.push(`${where} lies before offset ${found.position}, where the batch before it ends`)
    found.position = header.lastOffset + 1n
    found.batches++
    if (!isControl(header.attributes)) countRecords(bytes, header, segment.start_offset, found)
  }
}

function compare(segment: Segment, found: Found): string[] {
  const problems: string[] = []
  const say = (what: string, actual: bigint | number, recorded: bigint | number) => {
    if (actual !== recorded) problems.push(`it ${what.replace('#', String(actual))} instead of ${recorded}`)
  }
  say('ends at offset #', found.position, segment.end_offset)
  say('holds # batches', found.batches, segment.batches)
  say('holds # records', found.records, segment.records)
  if (found.firstTimestamp !== segment.first_timestamp || found.lastTimestamp !== segment.last_timestamp) {
    problems.push('its time range is not the recorded one')
  }
  return problems
}

function countRecords(bytes: Buffer, header: BatchHeader, startOffset: bigint, found: Found): void {
  if (header.recordCount === 0) return
  found.records += countRecordsFrom(bytes, header, startOffset)
  found.firstTimestamp = earlier(found.firstTimestamp, firstTimestamp(bytes, header))
  found.lastTimestamp = later(found.lastTimestamp, header.maxTimestamp)
}
