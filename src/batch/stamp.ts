import { crcAfterEdit, remainderOf } from './edit-crc.ts'
import { CRC_START, crcAt, DELETE_HORIZON, TRANSACTIONAL } from './header.ts'

interface ProducerStamp {
  producerId: bigint
  producerEpoch: number
  baseSequence: number
}

/** Behind the base sequence: from the start of the checksum to here are the fields that are stamped. */
const STAMPED_END = 57

/**
 * Makes a stored batch one that this producer may send, in place and without looking at its records. What another
 * cluster put on it goes: its offset, its leader epoch, the transaction and the delete horizon. Its CRC must be valid, and stays so.
 *
 * The base timestamp stays also where it holds a delete horizon: record timestamps are relative to it, so that
 * they are the same with and without the bit.
 */
export function stampBatch(bytes: Buffer, position: number, sizeBytes: number, stamp: ProducerStamp): void {
  const start = position + CRC_START
  const end = position + STAMPED_END
  const before = remainderOf(bytes, start, end)
  bytes.writeInt32BE(0, position)
  bytes.writeInt32BE(0, position + 4)
  bytes.writeInt32BE(-1, position + 12)
  bytes.writeInt16BE(bytes.readInt16BE(start) & ~(TRANSACTIONAL | DELETE_HORIZON), start)
  bytes.writeBigInt64BE(stamp.producerId, position + 43)
  bytes.writeInt16BE(stamp.producerEpoch, position + 51)
  bytes.writeInt32BE(stamp.baseSequence, position + 53)
  const after = remainderOf(bytes, start, end)
  bytes.writeUInt32BE(crcAfterEdit(crcAt(bytes, position), before, after, sizeBytes - STAMPED_END), position + 17)
}
