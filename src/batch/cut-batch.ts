import { openBody, type SourceBatch } from './compression.ts'
import { computeCrc } from './crc.ts'
import { HEADER_BYTES } from './header.ts'
import { RecordCursor } from './record-cursor.ts'

const CODEC_BITS = 0x07

/** The batch without the records before an offset, and without compression. The others are as they are: their deltas count from the same base. */
export function cutBefore({ bytes, header }: SourceBatch, start: bigint): { bytes: Buffer; records: number } {
  const body = openBody(bytes, header)
  const cursor = new RecordCursor()
  cursor.openBody(body, header)
  const kept: Buffer[] = []
  for (let from = cursor.position; cursor.next(); from = cursor.position) {
    if (header.baseOffset + BigInt(cursor.offsetDelta) >= start) kept.push(body.subarray(from, cursor.position))
  }
  const cut = Buffer.concat([bytes.subarray(header.position, header.position + HEADER_BYTES), ...kept])
  cut.writeInt32BE(cut.length - 12, 8)
  cut.writeInt16BE(header.attributes & ~CODEC_BITS, 21)
  cut.writeInt32BE(kept.length, 57)
  cut.writeUInt32BE(computeCrc(cut), 17)
  return { bytes: cut, records: kept.length }
}
