import protobuf from 'protobufjs'
import { exactNumber, showFloat, showNumber, textOf } from '../registry/avro/read-avro.ts'

/** Deeper messages are not decoded, so that untrusted bytes cannot exhaust the stack. */
const MAX_DEPTH = 64

/** A field, or the values of a map. */
type ValueField = Pick<protobuf.Field, 'id' | 'name' | 'type' | 'resolvedType'>

const wire = { varint: 0, fixed64: 1, bytes: 2, groupStart: 3, groupEnd: 4, fixed32: 5 } as const

/**
 * Pure. The message in `bytes` as JSON can show it: the fields that were written, enums by name, bytes as base64, long
 * integers as bigint where a double would not be exact. A field that the schema does not have is shown under its number.
 * Throws a RangeError if the bytes are not such a message.
 */
export function readProto(type: protobuf.Type, bytes: Buffer): object {
  const reader = new ProtoReader(bytes)
  return reader.message(type, 0)
}

class ProtoReader {
  readonly #bytes: Buffer
  #position = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#position === this.#bytes.length
  }

  /** Up to the end of the bytes, or of the group. */
  message(type: protobuf.Type, depth: number, groupId?: number): object {
    if (depth > MAX_DEPTH) throw new RangeError(`it is nested more than ${MAX_DEPTH} levels deep`)
    const found = new Map<string, unknown>()
    let isGroupEnded = false
    while (!this.isAtEnd) {
      const tag = Number(this.varint())
      const [id, wireType] = [tag >>> 3, tag & 7]
      if (wireType === wire.groupEnd) {
        if (id !== groupId) throw new RangeError(`the group ${id} ends and did not begin`)
        isGroupEnded = true
        break
      }
      if (id === 0) throw new RangeError('a field has the number 0')
      const field = type.fieldsById[id]
      if (field) this.#field(field, wireType, found, depth)
      else add(found, String(id), [this.#unknown(id, wireType, depth)], found.has(String(id)))
    }
    if (groupId !== undefined && !isGroupEnded) throw new RangeError(`the group ${groupId} does not end`)
    return asObject(found)
  }

  #field(field: protobuf.Field, wireType: number, found: Map<string, unknown>, depth: number): void {
    const { name } = field
    if (field instanceof protobuf.MapField) {
      const [key, value] = this.#entry(field, wireType, depth)
      const entries = found.get(name)
      if (entries instanceof Map) entries.set(key, value)
      else found.set(name, new Map([[key, value]]))
      return
    }
    const isPacked = field.repeated && wireType === wire.bytes && wireTypeOf(field) !== wire.bytes
    add(found, name, isPacked ? this.#packed(field) : [this.#value(field, wireType, depth)], field.repeated)
  }

  #entry(field: protobuf.MapField, wireType: number, depth: number): [string, unknown] {
    if (wireType !== wire.bytes) throw wrongType(field, wireType)
    const entry = new ProtoReader(this.#take(Number(this.varint())))
    let key: unknown = field.keyType === 'string' ? '' : 0
    let value: unknown = null
    while (!entry.isAtEnd) {
      const tag = Number(entry.varint())
      if (tag >>> 3 === 1) key = entry.#scalar(field.keyType, tag & 7, field)
      else if (tag >>> 3 === 2) value = entry.#value(field, tag & 7, depth)
      else entry.#unknown(tag >>> 3, tag & 7, depth)
    }
    return [String(key), value]
  }

  #packed(field: protobuf.Field): unknown[] {
    const packed = new ProtoReader(this.#take(Number(this.varint())))
    const values: unknown[] = []
    while (!packed.isAtEnd) values.push(packed.#value(field, wireTypeOf(field), 0))
    return values
  }

  #value(field: ValueField, wireType: number, depth: number): unknown {
    const { resolvedType } = field
    if (resolvedType instanceof protobuf.Enum) {
      if (wireType !== wire.varint) throw wrongType(field, wireType)
      const number = Number(BigInt.asIntN(32, this.varint()))
      return resolvedType.valuesById[number] ?? number
    }
    if (!(resolvedType instanceof protobuf.Type)) return this.#scalar(field.type, wireType, field)
    if (wireType === wire.groupStart) return this.message(resolvedType, depth + 1, field.id)
    if (wireType !== wire.bytes) throw wrongType(field, wireType)
    const inner = new ProtoReader(this.#take(Number(this.varint())))
    return inner.message(resolvedType, depth + 1)
  }

  #scalar(type: string, wireType: number, field: ValueField): unknown {
    if (wireType !== (scalarTypes[type] ?? wire.bytes)) throw wrongType(field, wireType)
    switch (type) {
      case 'string':
        return textOf(this.#take(Number(this.varint())))
      case 'bytes':
        return this.#take(Number(this.varint())).toString('base64')
      case 'bool':
        return this.varint() !== 0n
      case 'double':
        return showNumber(this.#take(8).readDoubleLE(0))
      case 'float':
        return showFloat(this.#take(4).readFloatLE(0))
      case 'fixed32':
        return this.#take(4).readUInt32LE(0)
      case 'sfixed32':
        return this.#take(4).readInt32LE(0)
      case 'fixed64':
        return exactNumber(this.#take(8).readBigUInt64LE(0))
      case 'sfixed64':
        return exactNumber(this.#take(8).readBigInt64LE(0))
      case 'uint32':
      case 'uint64':
        return exactNumber(this.varint())
      case 'sint32':
      case 'sint64': {
        const raw = this.varint()
        return exactNumber(BigInt.asIntN(64, (raw >> 1n) ^ -(raw & 1n)))
      }
      default:
        // int32 and int64; negative ones are written with 64 bits.
        return exactNumber(BigInt.asIntN(64, this.varint()))
    }
  }

  /** What the bytes tell without a schema; those of unknown length as base64. */
  #unknown(id: number, wireType: number, depth: number): unknown {
    switch (wireType) {
      case wire.varint:
        return exactNumber(this.varint())
      case wire.fixed64:
        return exactNumber(this.#take(8).readBigUInt64LE(0))
      case wire.fixed32:
        return this.#take(4).readUInt32LE(0)
      case wire.bytes:
        return this.#take(Number(this.varint())).toString('base64')
      case wire.groupStart:
        return this.message(new protobuf.Type('Unknown'), depth + 1, id)
      default:
        throw new RangeError(`a field has the unknown wire type ${wireType}`)
    }
  }

  varint(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const [byte = 0] = this.#take(1)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw new RangeError('an integer has more than ten bytes')
  }

  #take(bytes: number): Buffer {
    if (bytes > this.#bytes.length - this.#position) throw new RangeError('the bytes end too early')
    this.#position += bytes
    return this.#bytes.subarray(this.#position - bytes, this.#position)
  }
}

const scalarTypes: Readonly<Record<string, number>> = {
  ...{ int32: wire.varint, int64: wire.varint, uint32: wire.varint, uint64: wire.varint, bool: wire.varint },
  ...{ sint32: wire.varint, sint64: wire.varint, fixed32: wire.fixed32, sfixed32: wire.fixed32, float: wire.fixed32 },
  ...{ fixed64: wire.fixed64, sfixed64: wire.fixed64, double: wire.fixed64, string: wire.bytes, bytes: wire.bytes },
}

function wireTypeOf({ resolvedType, type }: ValueField): number {
  if (resolvedType) return resolvedType instanceof protobuf.Enum ? wire.varint : wire.bytes
  return scalarTypes[type] ?? wire.bytes
}

function wrongType({ name, type }: ValueField, wireType: number): RangeError {
  return new RangeError(`field ${name} of type ${type} has the wire type ${wireType}`)
}

/** Maps and messages may have any name, also `__proto__`, which `fromEntries` makes a plain property of. */
function asObject(found: ReadonlyMap<string, unknown>): object {
  return Object.fromEntries([...found].map(([name, value]) => [name, value instanceof Map ? asObject(value) : value]))
}

/** Of a field that is not repeated the last value counts. */
function add(found: Map<string, unknown>, name: string, values: readonly unknown[], isRepeated: boolean): void {
  const before = found.get(name)
  if (!isRepeated) found.set(name, values.at(-1))
  else if (Array.isArray(before)) for (const value of values) before.push(value)
  else found.set(name, before === undefined ? [...values] : [before, ...values])
}
