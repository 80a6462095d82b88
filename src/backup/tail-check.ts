import type { LastBatch } from '../archive/manifest.ts'
import { type BatchHeader, crcAt, hasDeleteHorizon } from '../batch/header.ts'

/** What a backup remembers of the last batch that it stored. */
export function markOf(bytes: Buffer, header: BatchHeader | undefined): LastBatch | undefined {
  if (!header) return undefined
  return { base_offset: header.baseOffset, records: header.recordCount, crc: crcAt(bytes, header.position) }
}

/**
 * Pure. Whether the source has another batch in the place of the one that was stored last, which ends before `position`.
 * A source that was rolled back may be in the same leader epoch again when it has grown, so epochs alone do not tell. What
 * compaction does to a batch is no difference: it removes records or the whole batch, and marks batches with tombstones.
 */
export function isOtherTail(
  bytes: Buffer,
  headers: readonly BatchHeader[],
  tail: LastBatch,
  position: bigint,
): boolean {
  const found = headers.find(({ baseOffset, lastOffset }) => baseOffset < position && lastOffset >= position - 1n)
  if (!found) return false
  if (found.baseOffset !== tail.base_offset || found.lastOffset !== position - 1n) return true
  const isCompacted = found.recordCount < tail.records || hasDeleteHorizon(found.attributes)
  return !isCompacted && crcAt(bytes, found.position) !== tail.crc
}
