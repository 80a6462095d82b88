import { readInt64 } from '../lib/int64.ts'

/**
 * A record batch (format v2) starts with this header, all big-endian:
 *
 *   baseOffset INT64 @0            batchLength INT32 @8 (bytes after this field)   partitionLeaderEpoch INT32 @12
 *   magic INT8 @16                 crc UINT32 @17 (CRC-32C of everything from @21) attributes INT16 @21
 *   lastOffsetDelta INT32 @23      baseTimestamp INT64 @27                         maxTimestamp INT64 @35
 *   producerId INT64 @43           producerEpoch INT16 @51                         baseSequence INT32 @53
 *   recordCount INT32 @57          records @61
 *
 * Base offset and leader epoch lie outside the checksum: the broker fills them in.
 */
export interface BatchHeader {
  /** Where the batch starts in the buffer it was read from, and how long it is with its header. */
  position: number
  sizeBytes: number
  baseOffset: bigint
  lastOffset: bigint
  leaderEpoch: number
  attributes: number
  baseTimestamp: bigint
  maxTimestamp: bigint
  producerId: bigint
  recordCount: number
}

export const HEADER_BYTES = 61
/** The part that tells how long a batch is and in which format. */
export const PREFIX_BYTES = 17
export const CRC_START = 21

/** Bits of the attributes; the lowest three name the codec. */
export const LOG_APPEND_TIME = 0x08
export const TRANSACTIONAL = 0x10
const CONTROL = 0x20
export const DELETE_HORIZON = 0x40

export const codecNames = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
export type Codec = (typeof codecNames)[number]

/** Bytes of the batch at this position, header included; undefined where not even the length has arrived. */
export function batchSizeAt(buffer: Buffer, position: number, end: number): number | undefined {
  return end - position < PREFIX_BYTES ? undefined : buffer.readInt32BE(position + 8) + 12
}

export function magicAt(buffer: Buffer, position: number): number {
  return buffer.readInt8(position + 16)
}

export function crcAt(buffer: Buffer, position: number): number {
  return buffer.readUInt32BE(position + 17)
}

/** Whether the bytes are one batch of the current format, by its header. */
export function isWholeBatch(bytes: Buffer): boolean {
  return bytes.length >= HEADER_BYTES && magicAt(bytes, 0) === 2 && bytes.readInt32BE(8) + 12 === bytes.length
}

/** The caller has checked that the whole header is there and that the magic is 2. */
export function readHeader(buffer: Buffer, position: number): BatchHeader {
  const baseOffset = readInt64(buffer, position)
  return {
    position,
    sizeBytes: buffer.readInt32BE(position + 8) + 12,
    baseOffset,
    lastOffset: baseOffset + BigInt(buffer.readInt32BE(position + 23)),
    leaderEpoch: buffer.readInt32BE(position + 12),
    attributes: buffer.readInt16BE(position + 21),
    baseTimestamp: readInt64(buffer, position + 27),
    maxTimestamp: readInt64(buffer, position + 35),
    producerId: readInt64(buffer, position + 43),
    recordCount: buffer.readInt32BE(position + 57),
  }
}

export function codecOf(attributes: number): Codec | undefined {
  return codecNames[attributes & 0x07]
}

/** The broker stamped the batch: every record's visible time is the batch's maximum. */
export function isLogAppendTime(attributes: number): boolean {
  return (attributes & LOG_APPEND_TIME) !== 0
}

export function isTransactional(attributes: number): boolean {
  return (attributes & TRANSACTIONAL) !== 0
}

/** A commit or abort marker (or another message of the broker to itself), not data of a user. */
export function isControl(attributes: number): boolean {
  return (attributes & CONTROL) !== 0
}

/** Compaction has put the time at which tombstones may go into the place of the base timestamp. */
export function hasDeleteHorizon(attributes: number): boolean {
  return (attributes & DELETE_HORIZON) !== 0
}
