import { crc32c } from '@node-rs/crc32'
import { type BatchHeader, CRC_START, DELETE_HORIZON, TRANSACTIONAL } from './header.ts'

interface ProducerStamp {
  producerId: bigint
  producerEpoch: number
  baseSequence: number
}

/**
 * Makes a stored batch one that this producer may send, in place and without looking at its records. What another
 * cluster put on it goes: its offset, its leader epoch, the transaction and the delete horizon.
 *
 * The base timestamp stays also where it holds a delete horizon: record timestamps are relative to it, so that
 * they are the same with and without the bit.
 */
export function stampBatch(bytes: Buffer, header: BatchHeader, stamp: ProducerStamp): void {
  const { position, sizeBytes, attributes } = header
  bytes.writeBigInt64BE(0n, position)
  bytes.writeInt32BE(-1, position + 12)
  bytes.writeInt16BE(attributes & ~(TRANSACTIONAL | DELETE_HORIZON), position + 21)
  bytes.writeBigInt64BE(stamp.producerId, position + 43)
  bytes.writeInt16BE(stamp.producerEpoch, position + 51)
  bytes.writeInt32BE(stamp.baseSequence, position + 53)
  bytes.writeUInt32BE(crc32c(bytes.subarray(position + CRC_START, position + sizeBytes)), position + 17)
}
