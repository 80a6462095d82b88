/** Builds a request in the protocol's flexible encoding: compact strings and arrays, tagged fields at each level. */
export class Writer {
  #buffer = Buffer.allocUnsafe(256)
  #length = 0

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

  /** STRING of the request header and of requests without the flexible encoding. */
  legacyString(value: string): this {
    const bytes = Buffer.from(value)
    return this.int16(bytes.length).raw(bytes)
  }

  string(value: string | null): this {
    if (value === null) return this.uvarint(0)
    const bytes = Buffer.from(value)
    return this.uvarint(bytes.length + 1).raw(bytes)
  }

  array<T>(items: readonly T[] | null, write: (item: T) => void): this {
    this.uvarint(items === null ? 0 : items.length + 1)
    items?.forEach(write)
    return this
  }

  noTags(): this {
    return this.uvarint(0)
  }

  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  #byte(value: number): this {
    this.#reserve(1)
    this.#length = this.#buffer.writeUInt8(value, this.#length)
    return this
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + bytes))
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }
}
