import { hasValidCrc } from '../batch/crc.ts'
import { type BatchHeader, isControl } from '../batch/header.ts'
import { countRecordsFrom, firstTimestamp } from '../batch/records.ts'
import { walkBatches } from '../batch/walk.ts'
import type { Storage } from '../storage/storage.ts'
import type { Segment } from './manifest.ts'
import { readSegment } from './segment-reader.ts'
import { earlier, later } from './times.ts'

/** Reads the whole segment and holds every batch against the index: checksum, order of offsets, counts, times. */
export async function checkSegment(storage: Storage, segment: Segment, signal: AbortSignal): Promise<string[]> {
  const problems: string[] = []
  const found = { batches: 0, records: 0, firstTimestamp: null as bigint | null, lastTimestamp: null as bigint | null }
  let position = segment.start_offset
  for await (const bytes of readSegment(storage, segment, signal)) {
    for (const header of walkBatches(bytes, 0, bytes.length)) {
      const where = `the batch at offset ${header.baseOffset}`
      if (!hasValidCrc(bytes, header.position, header.sizeBytes)) problems.push(`${where} has a wrong CRC-32C`)
      const overlaps = found.batches > 0 ? header.baseOffset < position : header.lastOffset < position
      if (overlaps) problems.push(`${where} lies before offset ${position}, where the batch before it ends`)
      position = header.lastOffset + 1n
      found.batches++
      if (!isControl(header.attributes)) countRecords(bytes, header, segment.start_offset, found)
    }
  }
  if (position !== segment.end_offset) problems.push(`it ends at offset ${position} instead of ${segment.end_offset}`)
  if (found.batches !== segment.batches)
    problems.push(`it holds ${found.batches} batches instead of ${segment.batches}`)
  if (found.records !== segment.records)
    problems.push(`it holds ${found.records} records instead of ${segment.records}`)
  if (found.firstTimestamp !== segment.first_timestamp || found.lastTimestamp !== segment.last_timestamp) {
    problems.push('its time range is not the recorded one')
  }
  return problems
}

function countRecords(
  bytes: Buffer,
  header: BatchHeader,
  startOffset: bigint,
  found: { records: number; firstTimestamp: bigint | null; lastTimestamp: bigint | null },
): void {
  if (header.recordCount === 0) return
  found.records += countRecordsFrom(bytes, header, startOffset)
  found.firstTimestamp = earlier(found.firstTimestamp, firstTimestamp(bytes, header))
  found.lastTimestamp = later(found.lastTimestamp, header.maxTimestamp)
}
