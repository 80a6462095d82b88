import { crc32c } from '@node-rs/crc32'
import { CRC_START, crcAt } from './header.ts'

/** Whether the bytes of the batch are the ones its producer summed up. */
export function hasValidCrc(buffer: Buffer, position: number, sizeBytes: number): boolean {
  return crc32c(buffer.subarray(position + CRC_START, position + sizeBytes)) === crcAt(buffer, position)
}

export function computeCrc(batch: Buffer): number {
  return crcOf(batch.subarray(CRC_START))
}

export function crcOf(bytes: Buffer): number {
  return crc32c(bytes)
}
