import { isUtf8 } from 'node:buffer'
import { negativeZero } from '../../lib/json.ts'
import { type AvroSchema, describeAvro } from './avro-schema.ts'

/** Nothing of a registry is deeper, and a circle of types ends. */
const MAX_DEPTH = 64
/** Values that take no bytes, such as nulls and records of nothing, could be claimed without end. */
const MAX_VALUES = 100_000

/**
 * Pure. The value of buffer[start, end) in Avro's binary encoding, as JSON can show it: bytes as a string with one character
 * for each byte, as in Avro's JSON encoding; long integers as bigint where a double would not be exact; of a union the value
 * alone. Throws a RangeError where the bytes are not exactly one value of the schema.
 */
export function readAvro(schema: AvroSchema, buffer: Buffer, start: number, end: number): unknown {
  const reader = new AvroValueReader(buffer, start, end)
  const value = reader.read(schema, 0)
  if (reader.position !== end) throw new RangeError(`${end - reader.position} bytes are left over`)
  return value
}

class AvroValueReader {
  position: number
  readonly #buffer: Buffer
  readonly #end: number
  /** How many more values may be read: each byte adds to what a payload may claim. */
  #left: number

  constructor(buffer: Buffer, start: number, end: number) {
    this.#buffer = buffer
    this.position = start
    this.#end = end
    this.#left = MAX_VALUES + (end - start)
  }

  read(schema: AvroSchema, depth: number): unknown {
    if (depth > MAX_DEPTH) throw new RangeError(`it is nested more than ${MAX_DEPTH} levels deep`)
    if (--this.#left < 0) throw new RangeError(`it has more than ${MAX_VALUES} values without bytes`)
    switch (schema.type) {
      case 'null':
        return null
      case 'boolean':
        return this.#boolean()
      case 'int':
      case 'long':
        return this.#long()
      case 'float':
        return showFloat(this.#take(4).readFloatLE(0))
      case 'double':
        return showNumber(this.#take(8).readDoubleLE(0))
      case 'bytes':
        return this.#take(this.#length()).toString('latin1')
      case 'string':
        return textOf(this.#take(this.#length()))
      case 'fixed':
        return this.#take(schema.size).toString('latin1')
      case 'enum':
        return this.#choose(schema.symbols, schema)
      case 'union':
        return this.read(this.#choose(schema.branches, schema), depth + 1)
      case 'record':
        return this.#object(schema.fields.map(field => [field.name, () => this.read(field.schema, depth + 1)]))
      case 'array': {
        const items: unknown[] = []
        this.#eachItem(() => items.push(this.read(schema.items, depth + 1)))
        return items
      }
      case 'map': {
        const entries: [string, unknown][] = []
        this.#eachItem(() => {
          const key = textOf(this.#take(this.#length()))
          entries.push([key, this.read(schema.values, depth + 1)])
        })
        return Object.fromEntries(entries)
      }
      default:
        return schema satisfies never
    }
  }

  /** `fromEntries` makes a property of any name, also of `__proto__`. */
  #object(fields: readonly (readonly [string, () => unknown])[]): object {
    return Object.fromEntries(fields.map(([name, read]) => [name, read()]))
  }

  #boolean(): boolean {
    const [byte = 0] = this.#take(1)
    if (byte > 1) throw new RangeError(`${byte} is not a boolean`)
    return byte === 1
  }

  #choose<T>(choices: readonly T[], schema: AvroSchema): T {
    const index = this.#long()
    const choice = choices[Number(index)]
    if (choice === undefined) throw new RangeError(`${describeAvro(schema)} has no choice ${index}`)
    return choice
  }

  /** Counts and that many items, until a count of 0; a negative one is followed by the bytes of its block. */
  #eachItem(readItem: () => void): void {
    for (;;) {
      let count = Number(this.#long())
      if (count === 0) return
      if (count < 0) {
        count = -count
        this.#length()
      }
      for (let i = 0; i < count; i++) readItem()
    }
  }

  #length(): number {
    return Number(this.#long())
  }

  #take(bytes: number): Buffer {
    if (!(bytes >= 0 && bytes <= this.#end - this.position)) throw new RangeError('the bytes end too early')
    this.position += bytes
    return this.#buffer.subarray(this.position - bytes, this.position)
  }

  /** Zigzag, seven bits in each byte. */
  #long(): number | bigint {
    let raw = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const [byte = 0] = this.#take(1)
      raw |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return exactNumber(BigInt.asIntN(64, (raw >> 1n) ^ -(raw & 1n)))
    }
    throw new RangeError('an integer has more than ten bytes')
  }
}

/** Throws where the bytes are not UTF-8: others would stand in the place of those that are none. */
export function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new RangeError('a string is not valid UTF-8')
  return bytes.toString('utf8')
}

/** JSON has no NaN and no infinity; they are texts, as in the JSON of Protobuf. */
export function showNumber(value: number): unknown {
  if (Object.is(value, -0)) return negativeZero
  return Number.isFinite(value) ? value : String(value)
}

/** The shortest number that is the same float: a double has digits behind it that no writer has meant. */
export function showFloat(value: number): unknown {
  for (let digits = 6; digits < 9 && Number.isFinite(value) && value !== 0; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return short
  }
  return showNumber(value)
}

/** As a number where that is exact. */
export function exactNumber(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}
