import { computeCrc } from './crc.ts'
import { HEADER_BYTES } from './header.ts'

export interface BatchFacts {
  baseOffset: bigint
  /** Codec and flags. */
  attributes: number
  lastOffsetDelta: number
  firstTimestamp: bigint
  maxTimestamp: bigint
  records: number
}

/** A batch of format v2 around encoded records: without a producer, and of no leader epoch. */
export function frameBatch(facts: BatchFacts, body: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + body.length)
  body.copy(bytes, HEADER_BYTES)
  writeFrame(facts, bytes)
  return bytes
}

/** The same where the records lie already, behind room for the header. */
export function writeFrame(facts: BatchFacts, bytes: Buffer): void {
  bytes.writeBigInt64BE(facts.baseOffset, 0)
  bytes.writeInt32BE(bytes.length - 12, 8)
  bytes.writeInt32BE(-1, 12)
  bytes.writeInt8(2, 16)
  bytes.writeInt16BE(facts.attributes, 21)
  bytes.writeInt32BE(facts.lastOffsetDelta, 23)
  bytes.writeBigInt64BE(facts.firstTimestamp, 27)
  bytes.writeBigInt64BE(facts.maxTimestamp, 35)
  bytes.writeBigInt64BE(-1n, 43)
  bytes.writeInt16BE(-1, 51)
  bytes.writeInt32BE(-1, 53)
  bytes.writeInt32BE(facts.records, 57)
  bytes.writeUInt32BE(computeCrc(bytes), 17)
}
