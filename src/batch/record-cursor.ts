import { knownCodec, openBody, openBodyAside, openBodyBriefly, undecodable } from './compression.ts'
import { type BatchHeader, HEADER_BYTES, isLogAppendTime } from './header.ts'
import { readNumber, readVarlong } from './varint.ts'

/**
 * A record as it lies in the plain bytes of a batch:
 *
 *   length VARINT, attributes INT8, timestampDelta VARLONG, offsetDelta VARINT, tail (key, value, headers)
 *
 * Only what depends on the batch is decoded. The tail is the same in every batch.
 */
export interface EncodedRecord {
  attributes: number
  /** Milliseconds, or NaN where a plain number would not be exact in sums; then `wideTime` has them. */
  time: number
  wideTime: bigint
  /** The offset is the sum of both: one bigint a batch instead of one a record. */
  offsetBase: bigint
  offsetDelta: number
  buffer: Buffer
  tailStart: number
  tailEnd: number
}

/** Sums with the deltas that `readNumber` reads, and distances of such sums, stay exact (until the year 37,000). */
const MAX_EXACT_TIME = 2n ** 50n

/** The number for `EncodedRecord.time`. */
export function exactTime(timestamp: bigint): number {
  return timestamp <= MAX_EXACT_TIME && timestamp >= -MAX_EXACT_TIME ? Number(timestamp) : Number.NaN
}

export function timestampOf(record: EncodedRecord): bigint {
  return Number.isNaN(record.time) ? record.wideTime : BigInt(record.time)
}

/** Walks over the records of one batch after the other. The cursor itself is the current record: none is allocated. */
export class RecordCursor implements EncodedRecord {
  attributes = 0
  time = 0
  wideTime = 0n
  offsetBase = 0n
  offsetDelta = 0
  buffer: Buffer = Buffer.alloc(0)
  tailStart = 0
  tailEnd = 0
  position = 0
  #header: BatchHeader | undefined
  #end = 0
  #left = 0
  /** Deltas are added to this; in a LogAppendTime batch they do not count. */
  #wideBase = 0n
  #base = 0
  #hasOneTime = false

  /** Goes to the beginning of the batch and returns how many plain bytes its records have. */
  open(bytes: Buffer, header: BatchHeader): number {
    if (knownCodec(header) !== 'none') return this.openBody(openBody(bytes, header), header)
    return this.#begin(header, bytes, header.position + HEADER_BYTES, header.position + header.sizeBytes)
  }

  /** The same where the records are unpacked already. */
  openBody(body: Buffer, header: BatchHeader): number {
    return this.#begin(header, body, 0, body.length)
  }

  #begin(header: BatchHeader, buffer: Buffer, start: number, end: number): number {
    this.#header = header
    this.buffer = buffer
    this.position = start
    this.#end = end
    this.#left = header.recordCount
    this.#hasOneTime = isLogAppendTime(header.attributes)
    this.#wideBase = this.#hasOneTime ? header.maxTimestamp : header.baseTimestamp
    this.#base = exactTime(this.#wideBase)
    this.offsetBase = header.baseOffset
    return this.#end - this.position
  }

  /** Goes to the next record; false behind the last one. Refuses a batch whose records are not what it says. */
  next(): boolean {
    try {
      if (this.#left === 0) {
        if (this.position !== this.#end) throw new RangeError('bytes are left over after the last record')
        return false
      }
      this.#left--
      this.#read()
      return true
    } catch (cause) {
      throw this.refusal(cause)
    }
  }

  /** The error for records that cannot be decoded. */
  refusal(cause: unknown): unknown {
    return this.#header === undefined ? cause : undecodable(this.#header, cause)
  }

  #read(): void {
    const length = readNumber(this)
    const end = this.position + length
    if (!(length > 0 && end <= this.#end)) throw new RangeError('a record ends beyond its batch')
    this.attributes = this.buffer[this.position++] ?? 0
    this.#readTime()
    this.offsetDelta = readNumber(this)
    if (!(this.position <= end)) throw new RangeError('a record ends inside its offset')
    if (Number.isNaN(this.offsetDelta)) throw new RangeError('a record is too far from the first offset')
    this.tailStart = this.position
    this.tailEnd = end
    this.position = end
  }

  #readTime(): void {
    const delta = readNumber(this)
    const wideDelta = Number.isNaN(delta) ? readVarlong(this) : undefined
    if (this.#hasOneTime) {
      this.time = this.#base
      this.wideTime = this.#wideBase
      return
    }
    this.time = this.#base + delta
    // Clients add with 64 bits, so that the sum may wrap around.
    if (Number.isNaN(this.time)) this.wideTime = BigInt.asIntN(64, this.#wideBase + (wideDelta ?? BigInt(delta)))
  }
}

/** The earliest time of the batch's records, which it has to be opened for; null without records. */
export async function leastTime(bytes: Buffer, header: BatchHeader): Promise<bigint | null> {
  const cursor = new RecordCursor()
  cursor.openBody(openBodyBriefly(bytes, header) ?? (await openBodyAside(bytes, header)), header)
  let least = Number.POSITIVE_INFINITY
  let wideLeast: bigint | null = null
  while (cursor.next()) {
    if (cursor.time < least) least = cursor.time
    else if (Number.isNaN(cursor.time)) wideLeast = earlier(wideLeast, timestampOf(cursor))
  }
  return least === Number.POSITIVE_INFINITY ? wideLeast : earlier(wideLeast, BigInt(least))
}

function earlier(first: bigint | null, second: bigint): bigint {
  if (first === null || second < first) return second
  return first
}
