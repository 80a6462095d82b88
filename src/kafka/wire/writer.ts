/** Builds a request, in the flexible encoding (compact lengths, tagged fields at each level) or in the older one. */
export class Writer {
  readonly #isFlexible: boolean
  #buffer = Buffer.allocUnsafe(256)
  #length = 0
  /** What is written so far, up to the last bytes that were attached, in pieces. */
  readonly #pieces: Buffer[] = []
  /** Where the part of the buffer begins that is not among the pieces. */
  #start = 0

  constructor({ isFlexible = true }: { isFlexible?: boolean } = {}) {
    this.#isFlexible = isFlexible
  }

  int8(value: number): this {
    this.#reserve(1)
    this.#length = this.#buffer.writeInt8(value, this.#length)
    return this
  }

  int16(value: number): this {
    this.#reserve(2)
    this.#length = this.#buffer.writeInt16BE(value, this.#length)
    return this
  }

  int32(value: number): this {
    this.#reserve(4)
    this.#length = this.#buffer.writeInt32BE(value, this.#length)
    return this
  }

  int64(value: bigint): this {
    this.#reserve(8)
    this.#length = this.#buffer.writeBigInt64BE(value, this.#length)
    return this
  }

  float64(value: number): this {
    this.#reserve(8)
    this.#length = this.#buffer.writeDoubleBE(value, this.#length)
    return this
  }

  boolean(value: boolean): this {
    return this.int8(value ? 1 : 0)
  }

  uvarint(value: number): this {
    let rest = value
    while (rest >= 0x80) {
      this.#byte((rest & 0x7f) | 0x80)
      rest >>>= 7
    }
    return this.#byte(rest)
  }

  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#length)
    this.#length += bytes.length
    return this
  }

  uuid(hex: string): this {
    return this.raw(Buffer.from(hex, 'hex'))
  }

  /** A string in the older encoding, whatever the request has: the client ID of its header. */
  headerString(value: string): this {
    const bytes = Buffer.from(value)
    return this.int16(bytes.length).raw(bytes)
  }

  string(value: string | null): this {
    if (value === null) return this.#isFlexible ? this.uvarint(0) : this.int16(-1)
    if (!this.#isFlexible) return this.headerString(value)
    const bytes = Buffer.from(value)
    return this.uvarint(bytes.length + 1).raw(bytes)
  }

  bytes(value: Uint8Array): this {
    return this.#size(value.length).raw(value)
  }

  array<T>(items: readonly T[] | null, write: (item: T) => void): this {
    this.#size(items?.length ?? -1)
    items?.forEach(write)
    return this
  }

  /** Bytes that are sent from where they lie: they must not change until the request is answered. */
  attach(pieces: readonly Buffer[]): this {
    this.#size(pieces.reduce((sum, piece) => sum + piece.length, 0))
    this.#pieces.push(this.#buffer.subarray(this.#start, this.#length), ...pieces)
    this.#start = this.#length
    return this
  }

  /** The end of a level of the flexible encoding; the older one has none. */
  noTags(): this {
    return this.#isFlexible ? this.uvarint(0) : this
  }

  /** The request in pieces, none of them copied. */
  pieces(): Buffer[] {
    return [...this.#pieces, this.#buffer.subarray(this.#start, this.#length)]
  }

  finish(): Buffer {
    const last = this.#buffer.subarray(this.#start, this.#length)
    return this.#pieces.length === 0 ? last : Buffer.concat([...this.#pieces, last])
  }

  /** Of an array or of bytes; -1 is null. */
  #size(length: number): this {
    return this.#isFlexible ? this.uvarint(length + 1) : this.int32(length)
  }

  #byte(value: number): this {
    this.#reserve(1)
    this.#length = this.#buffer.writeUInt8(value, this.#length)
    return this
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + bytes))
    this.#length = this.#buffer.copy(larger, 0, this.#start, this.#length)
    this.#start = 0
    this.#buffer = larger
  }
}
