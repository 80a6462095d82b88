import type { AvroSchema } from './avro-schema.ts'

/** Nothing of a registry is deeper, and a circle of types ends. */
const MAX_DEPTH = 64

/** Pure. Whether buffer[start, end) is one value of the schema in Avro's binary encoding, to the last byte. */
export function fitsAvro(schema: AvroSchema, buffer: Buffer, start: number, end: number): boolean {
  const reader = new AvroReader(buffer, start, end)
  return reader.skip(schema, 0) && reader.position === end
}

/** Goes over values without making them. Every step says whether the bytes can be what the schema says. */
class AvroReader {
  position: number
  readonly #buffer: Buffer
  readonly #end: number

  constructor(buffer: Buffer, start: number, end: number) {
    this.#buffer = buffer
    this.position = start
    this.#end = end
  }

  skip(schema: AvroSchema, depth: number): boolean {
    if (depth > MAX_DEPTH) return false
    switch (schema.type) {
      case 'null':
        return true
      case 'boolean':
        return (this.#buffer[this.position] ?? 2) <= 1 && this.#pass(1)
      case 'int':
      case 'long':
        return !Number.isNaN(this.#readLong())
      case 'float':
        return this.#pass(4)
      case 'double':
        return this.#pass(8)
      case 'bytes':
      case 'string':
        return this.#pass(this.#readLong())
      case 'fixed':
        return this.#pass(schema.size)
      case 'enum':
        return this.#isBelow(this.#readLong(), schema.symbols.length)
      case 'record':
        return schema.fields.every(field => this.skip(field.schema, depth + 1))
      case 'union': {
        const branch = schema.branches[this.#readLong()]
        return branch !== undefined && this.skip(branch, depth + 1)
      }
      case 'array':
        return this.#skipBlocks(() => this.skip(schema.items, depth + 1))
      case 'map':
        return this.#skipBlocks(() => this.#pass(this.#readLong()) && this.skip(schema.values, depth + 1))
      default:
        return schema satisfies never
    }
  }

  /** Counts and that many items, until a count of 0; a negative one is followed by the bytes of its block. */
  #skipBlocks(skipItem: () => boolean): boolean {
    for (;;) {
      const count = this.#readLong()
      if (Number.isNaN(count)) return false
      if (count === 0) return true
      if (count < 0) {
        if (!this.#pass(this.#readLong())) return false
        continue
      }
      // Items may take no bytes, so a wrong count could loop for very long.
      if (count > this.#end - this.position + MAX_DEPTH) return false
      for (let i = 0; i < count; i++) if (!skipItem()) return false
    }
  }

  #pass(bytes: number): boolean {
    if (!(bytes >= 0 && bytes <= this.#end - this.position)) return false
    this.position += bytes
    return true
  }

  #isBelow(value: number, limit: number): boolean {
    return value >= 0 && value < limit
  }

  /** NaN where there is none. Beyond 2^53 it is not exact, which only a length or a count would have to be. */
  #readLong(): number {
    let value = 0
    let scale = 1
    for (let i = 0; i < 10 && this.position < this.#end; i++) {
      const byte = this.#buffer[this.position++] ?? 0
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
      scale *= 128
    }
    return Number.NaN
  }
}
