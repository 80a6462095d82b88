import { KafkaBackupError } from '../../errors.ts'
import { readInt64 } from '../../lib/int64.ts'

/** Kafka refuses to write a longer one, also where the encoding could hold it. */
const MAX_STRING_BYTES = 32_767

/**
 * Reads an answer, in the flexible encoding (compact lengths, tagged fields at each level) or in the older one. Running past
 * its end is a protocol error, never a crash.
 */
export class Reader {
  readonly buffer: Buffer
  readonly #isFlexible: boolean
  position = 0

  constructor(buffer: Buffer, { isFlexible = true }: { isFlexible?: boolean } = {}) {
    this.buffer = buffer
    this.#isFlexible = isFlexible
  }

  int8(): number {
    return this.buffer.readInt8(this.#take(1))
  }

  int16(): number {
    return this.buffer.readInt16BE(this.#take(2))
  }

  int32(): number {
    return this.buffer.readInt32BE(this.#take(4))
  }

  int64(): bigint {
    return readInt64(this.buffer, this.#take(8))
  }

  float64(): number {
    return this.buffer.readDoubleBE(this.#take(8))
  }

  boolean(): boolean {
    return this.int8() !== 0
  }

  uvarint(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.buffer.readUInt8(this.#take(1))
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw malformed('a variable-length integer has more than five bytes')
  }

  uuid(): string {
    const start = this.#take(16)
    return this.buffer.toString('hex', start, start + 16)
  }

  nullableString(): string | null {
    const length = this.#isFlexible ? this.uvarint() - 1 : this.int16()
    if (length < 0) return null
    if (length > MAX_STRING_BYTES) throw malformed(`a string has ${length} bytes, more than Kafka sends`)
    const start = this.#take(length)
    return this.buffer.toString('utf8', start, start + length)
  }

  string(): string {
    const text = this.nullableString()
    if (text === null) throw malformed('a string is null')
    return text
  }

  /** The position of a byte range, without copying it; an absent one has no length. */
  bytesRange(): { start: number; end: number } {
    const length = Math.max(0, this.#length())
    const start = this.#take(length)
    return { start, end: start + length }
  }

  /** Null reads as empty. */
  array<T>(read: () => T): T[] {
    const length = this.#length()
    if (length > this.buffer.length) throw malformed('an array is longer than the answer')
    const items: T[] = []
    for (let i = 0; i < length; i++) items.push(read())
    return items
  }

  /** An array of numbers that no one needs. */
  skipInt32s(): void {
    const length = this.#length()
    if (length > 0) this.#take(4 * length)
  }

  /**
   * Tagged fields: those the caller knows by their tag are handed to it, the others are passed over. The older encoding has
   * none.
   */
  tags(known?: (tag: number) => void): void {
    if (!this.#isFlexible) return
    for (let count = this.uvarint(); count > 0; count--) {
      const tag = this.uvarint()
      const length = this.uvarint()
      const end = this.#take(length) + length
      this.position = end - length
      known?.(tag)
      this.position = end
    }
  }

  /** Of an array or of bytes; -1 is null. */
  #length(): number {
    return this.#isFlexible ? this.uvarint() - 1 : this.int32()
  }

  #take(bytes: number): number {
    const start = this.position
    if (bytes < 0 || start + bytes > this.buffer.length) throw malformed('it ends in the middle of a field')
    this.position = start + bytes
    return start
  }
}

function malformed(what: string): KafkaBackupError {
  return new KafkaBackupError('KAFKA_PROTOCOL', `the broker's answer cannot be read: ${what}`)
}
