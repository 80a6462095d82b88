import { hasSchemaGuid, LONG_BYTES, type Part, readSchemaId } from '../registry/ids/schema-id.ts'

/** How many records name a schema in one part, by its ID. Numbers of eight bytes look as if they did. */
export type FrameIds = Map<number, { frames: number; longs: number }>

/** Where the next number is read. One batch is scanned at a time. */
let at = 0

/**
 * The IDs in the records of a usual batch, in one pass without an object for a record: most of what a search reads is such.
 * Undefined for everything else (headers, GUIDs, large numbers, bytes that are not records), which `RecordCursor` walks
 * and refuses.
 */
export function scanFrames(body: Buffer, recordCount: number, part: Part): FrameIds | undefined {
  const ids: FrameIds = new Map()
  let lastId = 0
  let last = { frames: 0, longs: 0 }
  at = 0
  for (let i = 0; i < recordCount; i++) {
    const length = readSmall(body)
    const end = at + length
    if (length <= 0 || end > body.length) return undefined
    at++
    // The distances of time and offset do not matter; both may be negative.
    if (readRaw(body) < 0 || readRaw(body) < 0) return undefined
    const keyBytes = readSmall(body)
    const keyStart = at
    if (keyBytes < -1) return undefined
    at += Math.max(keyBytes, 0)
    const valueBytes = readSmall(body)
    const valueStart = at
    if (valueBytes < -1) return undefined
    at += Math.max(valueBytes, 0)
    if (readRaw(body) !== 0 || at !== end) return undefined
    const bytes = part === 'key' ? keyBytes : valueBytes
    const start = part === 'key' ? keyStart : valueStart
    // Frames begin with the byte 0 or 1.
    if (bytes <= 0 || (body[start] ?? 2) > 1) continue
    const id = readSchemaId(body, start, start + bytes)
    if (id === 0) {
      if (hasSchemaGuid(body, start, start + bytes)) return undefined
      continue
    }
    if (id !== lastId) {
      lastId = id
      last = ids.get(id) ?? { frames: 0, longs: 0 }
      ids.set(id, last)
    }
    if (bytes === LONG_BYTES) last.longs++
    else last.frames++
  }
  return at === body.length ? ids : undefined
}

/** A number of up to 28 bits as it is stored, with its sign in the lowest bit; -1 for a longer one. */
function readRaw(body: Buffer): number {
  let value = 0
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = body[at++]
    if (byte === undefined) return -1
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) return value
  }
  return -1
}

/** A length; -1 is null, and -2 what cannot be one. */
function readSmall(body: Buffer): number {
  const raw = readRaw(body)
  if (raw < 0 || (raw & 1) === 1) return raw === 1 ? -1 : -2
  return raw >>> 1
}
