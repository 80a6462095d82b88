import { damagedInside } from '../archive/damage.ts'
import type { Segment } from '../archive/manifest.ts'
import { hasValidCrc } from '../batch/crc.ts'
import { type BatchHeader, readHeader } from '../batch/header.ts'
import { HeaderCursor } from '../batch/header-cursor.ts'
import { wholeSizeAt } from '../batch/walk.ts'
import { hasCode, type KafkaBackupError } from '../errors.ts'

/**
 * The batches of a piece, which must follow each other. Offsets lie outside a batch's checksum: one that is wrong would
 * have its batch left out, and a wrong position stored, from which a later run would continue after the segment is repaired.
 */
export function walkSegment(bytes: Buffer, segment: Segment, from: bigint): BatchHeader[] {
  const headers: BatchHeader[] = []
  checkBatches(bytes, segment, from, ({ position }) => headers.push(readHeader(bytes, position)))
  return headers
}

/**
 * The same, for a caller that does not keep headers: `onBatch` gets one object for all of them. Returns the offset that follows the last batch.
 * `isCheckedLater` is asked before the checksum is compared, so that the header may be wrong.
 */
export function checkBatches(
  bytes: Buffer,
  segment: Segment,
  from: bigint,
  onBatch: (header: BatchHeader) => void,
  isCheckedLater: (header: BatchHeader) => boolean = () => false,
): bigint {
  const header = new HeaderCursor(bytes)
  let next = from
  let position = 0
  for (;;) {
    const sizeBytes = nextSize(bytes, position, segment, from)
    if (sizeBytes === undefined) return next
    header.moveTo(position)
    if (!isCheckedLater(header)) assertCrc(bytes, header, segment)
    const { baseOffset, lastOffset } = header
    const isInside = lastOffset >= segment.start_offset && lastOffset < segment.end_offset
    if (baseOffset < next || !isInside) {
      assertBefore(bytes, position, segment, from)
      throw damaged(segment, header, 'cannot be there')
    }
    next = lastOffset + 1n
    position += sizeBytes
    onBatch(header)
  }
}

/** Undefined if the batch at this position is not there as a whole. */
function nextSize(bytes: Buffer, position: number, segment: Segment, from: bigint): number | undefined {
  try {
    return wholeSizeAt(bytes, position, bytes.length)
  } catch (cause) {
    assertBefore(bytes, position, segment, from)
    if (!hasCode(cause, 'BATCH_INVALID', 'BATCH_OLD_FORMAT')) throw cause
    throw damagedInside(segment.key, cause.message, { cause })
  }
}

/** Throws if a batch before `position` has a wrong checksum: its wrong length may be why what follows is not a batch. */
function assertBefore(bytes: Buffer, position: number, segment: Segment, from: bigint): void {
  checkBatches(bytes.subarray(0, position), segment, from, () => undefined)
}

/** Compares the batch with its checksum. */
export function assertCrc(bytes: Buffer, header: BatchHeader, segment: Segment): void {
  const { position, sizeBytes } = header
  if (!hasValidCrc(bytes, position, sizeBytes)) throw damaged(segment, header, 'has a wrong CRC-32C')
}

function damaged({ key }: Segment, { baseOffset }: BatchHeader, why: string): KafkaBackupError {
  return damagedInside(key, `the batch at offset ${baseOffset} ${why}`, { details: { offset: baseOffset } })
}
