import { randomBytes } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { varlongBytes, writeVarlong } from '../batch/varint.ts'
import type { ShownRecord } from '../inspect/print-format.ts'
import { formatJson } from '../lib/json.ts'
import type { RecordEncoder } from './record-encoder.ts'

/**
 * An Avro object container file:
 *
 *   "Obj" 1, metadata (a map of bytes: avro.schema, avro.codec and others), sync marker (16 bytes), then blocks:
 *   number of records LONG, bytes of the block LONG, records (deflate), sync marker
 */
export function avroFile(
  schema: unknown,
  metadata: Readonly<Record<string, string>>,
  encode: (shown: ShownRecord) => Buffer[],
): RecordEncoder {
  const sync = randomBytes(16)
  let held: Buffer[] = []
  let heldBytes = 0
  let count = 0
  const block = (): Buffer => {
    if (count === 0) return Buffer.alloc(0)
    const packed = deflateRawSync(Buffer.concat(held))
    const bytes = Buffer.concat([long(count), long(packed.length), packed, sync])
    held = []
    heldBytes = 0
    count = 0
    return bytes
  }
  return {
    start: () => {
      const all = { 'avro.schema': formatJson(schema), 'avro.codec': 'deflate', ...metadata }
      const entries = Object.entries(all).flatMap(([name, text]) => [...bytesOf(name), ...bytesOf(text)])
      return Buffer.concat([Buffer.from('Obj\x01'), long(Object.keys(all).length), ...entries, long(0), sync])
    },
    add: shown => {
      // A copy: the bytes of a record are a part of its batch, which must not stay in memory for its sake.
      const bytes = Buffer.concat(encode(shown))
      held.push(bytes)
      heldBytes += bytes.length
      count++
      return heldBytes < BLOCK_BYTES ? Buffer.alloc(0) : block()
    },
    end: block,
  }
}

const BLOCK_BYTES = 256 << 10

/** `int` and `long` have the same form. */
export function long(value: bigint | number): Buffer {
  const wide = BigInt(value)
  const bytes = Buffer.alloc(varlongBytes(wide))
  writeVarlong(bytes, 0, wide)
  return bytes
}

/** Also a `string`. */
export function bytesOf(content: Buffer | string): Buffer[] {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  return [long(bytes.length), bytes]
}

/** Of a union of null and another type, in this order. */
export function optional<T>(value: T | null | undefined, encode: (value: T) => Buffer[]): Buffer[] {
  return value === null || value === undefined ? [long(0)] : [long(1), ...encode(value)]
}
