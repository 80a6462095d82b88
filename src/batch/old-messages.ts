import { crc32 } from '@node-rs/crc32'
import { KafkaBackupError } from '../errors.ts'
import { decompress } from './compression.ts'
import { type Codec, codecOf, isLogAppendTime, magicAt } from './header.ts'
import { repairHeaderChecksum } from './lz4-header.ts'

/** The message formats before record batches. */
export type OldFormat = 'v0' | 'v1'

/** The records of one message of a log: one, or those that a compressed message wraps. */
export interface OldBatch {
  format: OldFormat
  codec: Codec
  /** The broker stamped the message: every record has the same time. */
  isLogAppendTime: boolean
  /** In the order of their offsets, at least one. */
  records: OldRecord[]
}

export interface OldRecord {
  offset: bigint
  /** -1 in format v0, which has none. */
  timestamp: bigint
  key: Buffer | null
  value: Buffer | null
}

/** Offset and size. */
export const ENTRY_BYTES = 12
/** Up to the magic, and attributes and two lengths behind it. */
const MIN_MESSAGE_BYTES = ENTRY_BYTES + 14
const MAGIC_POSITION = 16
const NO_TIMESTAMP = -1n
/** Of a batch of format v2. */
const MAX_OFFSET_DELTA = 2n ** 31n - 1n

/**
 * A message of format v0 or v1, all big-endian:
 *
 *   offset INT64 @0         size INT32 @8 (bytes after this field)   crc UINT32 @12 (CRC-32 of everything from @16)
 *   magic INT8 @16          attributes INT8 @17 (codec in the lowest three bits, in v1 the kind of time in the fourth)
 *   timestamp INT64 @18 (in v1 only)         key BYTES         value BYTES (INT32 length, -1 is null)
 *
 * A compressed message is a wrapper: its value is a row of such messages, and its offset is that of the last of them.
 * Inside, v0 has the offsets of the log; v1 has offsets relative to each other.
 */
export function decodeOldBatch(buffer: Buffer, position: number, sizeBytes: number): OldBatch {
  const offset = buffer.readBigInt64BE(position)
  try {
    const outer = decodeMessage(buffer.subarray(position, position + sizeBytes))
    const format = outer.magic === 0 ? 'v0' : 'v1'
    const isStamped = outer.magic === 1 && isLogAppendTime(outer.attributes)
    const codec = codecOf(outer.attributes)
    if (codec === undefined || codec === 'zstd') throw new RangeError('it has an unknown compression')
    const records = codec === 'none' ? [outer] : unwrap(outer, codec, isStamped)
    return { format, codec, isLogAppendTime: isStamped, records }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const what = `the message at offset ${offset} in format v${magicAt(buffer, position)} cannot be decoded`
    throw new KafkaBackupError('BATCH_INVALID', `${what}: ${reason}`, { cause })
  }
}

interface Message extends OldRecord {
  magic: number
  attributes: number
}

function decodeMessage(bytes: Buffer): Message {
  if (bytes.length < MIN_MESSAGE_BYTES) throw new RangeError(`it claims a size of ${bytes.length} bytes`)
  const magic = magicAt(bytes, 0)
  if (magic !== 0 && magic !== 1) throw new RangeError(`a message inside has format ${magic}`)
  if (crc32(bytes.subarray(MAGIC_POSITION)) !== bytes.readUInt32BE(ENTRY_BYTES)) throw new RangeError('wrong CRC-32')
  const key = readBytes(bytes, magic === 0 ? 18 : 26)
  const value = readBytes(bytes, key.end)
  if (value.end !== bytes.length) throw new RangeError('bytes are left over behind the value')
  return {
    magic,
    attributes: bytes.readInt8(17),
    offset: bytes.readBigInt64BE(0),
    timestamp: magic === 0 ? NO_TIMESTAMP : bytes.readBigInt64BE(18),
    key: key.bytes,
    value: value.bytes,
  }
}

/** By the rules of Kafka's own readers. */
function unwrap(wrapper: Message, codec: Codec, isStamped: boolean): OldRecord[] {
  if (wrapper.value === null) throw new RangeError('it is compressed and has no value')
  // Clients of format v0 computed the checksum of the frame's header from the wrong bytes.
  const isLz4OfV0 = codec === 'lz4' && wrapper.magic === 0
  const plain = decompress(codec, isLz4OfV0 ? repairHeaderChecksum(wrapper.value) : wrapper.value)
  const inner = decodeAll(plain)
  const base = wrapper.magic === 0 ? 0n : baseOffset(wrapper.offset, inner)
  const first = base + (inner[0]?.offset ?? 0n)
  let last = -1n
  return inner.map(({ magic, attributes, offset, timestamp, key, value }) => {
    if (codecOf(attributes) !== 'none') throw new RangeError('a message inside is compressed once more')
    const absolute = base + offset
    if (absolute <= last) throw new RangeError(`offset ${absolute} follows offset ${last}`)
    if (absolute - first > MAX_OFFSET_DELTA) throw new RangeError(`offset ${absolute} is too far from ${first}`)
    last = absolute
    return { offset: absolute, timestamp: isStamped && magic === 1 ? wrapper.timestamp : timestamp, key, value }
  })
}

function decodeAll(plain: Buffer): Message[] {
  const messages: Message[] = []
  for (let position = 0; position < plain.length; ) {
    const size = position + ENTRY_BYTES > plain.length ? Number.NaN : plain.readInt32BE(position + 8) + ENTRY_BYTES
    if (!(size >= MIN_MESSAGE_BYTES && position + size <= plain.length)) {
      throw new RangeError('a message inside is cut off')
    }
    messages.push(decodeMessage(plain.subarray(position, position + size)))
    position += size
  }
  if (messages.length === 0) throw new RangeError('it wraps no message')
  return messages
}

/** What the relative offsets of a wrapper in v1 count from: the last of them is the wrapper's own offset. */
function baseOffset(wrapperOffset: bigint, inner: readonly Message[]): bigint {
  // Some producers leave the offset at 0.
  if (wrapperOffset === 0n) return 0n
  const lastInner = inner.at(-1)?.offset ?? 0n
  if (wrapperOffset < lastInner) throw new RangeError(`an offset inside, ${lastInner}, is beyond its own`)
  return wrapperOffset - lastInner
}

function readBytes(bytes: Buffer, position: number): { bytes: Buffer | null; end: number } {
  if (position + 4 > bytes.length) throw new RangeError('it ends inside a length')
  const length = bytes.readInt32BE(position)
  const start = position + 4
  if (length < 0) return { bytes: null, end: start }
  if (start + length > bytes.length) throw new RangeError('a key or value ends beyond it')
  return { bytes: bytes.subarray(start, start + length), end: start + length }
}
