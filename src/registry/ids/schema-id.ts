/**
 * How serializers name the schema of a key or a value, all big-endian:
 *
 *   prefix v0   00, id INT32, payload (of Protobuf: message indexes first)
 *   prefix v1   01, GUID 16 bytes, payload
 *   header      the record has `__key_schema_id` or `__value_schema_id`, which holds one of the two without a payload of
 *               its own; the last one of that name counts, and the key or value then has no prefix
 */
export const KEY_HEADER = '__key_schema_id'
export const VALUE_HEADER = '__value_schema_id'

export const parts = ['key', 'value'] as const
export type Part = (typeof parts)[number]

/** Whether a header is one in which Apicurio's own serializers put an id of eight bytes; it is not rewritten. */
export function isApicurioHeader(name: string, part: Part): boolean {
  return name === `apicurio.${part}.globalId` || name === `apicurio.${part}.contentId`
}

const ID_MAGIC = 0
const GUID_MAGIC = 1
/** An Avro record without fields has no payload. */
export const ID_FRAME_BYTES = 5
export const GUID_FRAME_BYTES = 17
/** A LongSerializer writes so many, of which the first is 00 for all times and counts there are. */
export const LONG_BYTES = 8

/**
 * The id of a v0 frame in buffer[start, end); 0 where there is none. No registry gives 0 or less: eight bytes of a small
 * number, and the global ids of Apicurio's old format, read as 0.
 */
export function readSchemaId(buffer: Buffer, start: number, end: number): number {
  if (end - start < ID_FRAME_BYTES || buffer[start] !== ID_MAGIC) return 0
  const id =
    ((buffer[start + 1] ?? 0) << 24) |
    ((buffer[start + 2] ?? 0) << 16) |
    ((buffer[start + 3] ?? 0) << 8) |
    (buffer[start + 4] ?? 0)
  return Math.max(id, 0)
}

/** Changes the four bytes of the id and nothing else; the caller has read one there. */
export function writeSchemaId(buffer: Buffer, start: number, id: number): void {
  buffer[start + 1] = id >>> 24
  buffer[start + 2] = id >>> 16
  buffer[start + 3] = id >>> 8
  buffer[start + 4] = id
}

export function hasSchemaGuid(buffer: Buffer, start: number, end: number): boolean {
  return end - start >= GUID_FRAME_BYTES && buffer[start] === GUID_MAGIC
}

/** As 32 hex digits; the caller has seen that there is one. */
export function readSchemaGuid(buffer: Buffer, start: number): string {
  return buffer.toString('hex', start + 1, start + GUID_FRAME_BYTES)
}

export function writeSchemaGuid(buffer: Buffer, start: number, guid: string): void {
  buffer.write(guid, start + 1, GUID_FRAME_BYTES - 1, 'hex')
}

/** Whether the payload behind a v0 prefix may be one of a schema of this type. */
export function isPlausiblePayload(framed: Buffer, schemaType: string): boolean {
  const payload = framed.subarray(ID_FRAME_BYTES)
  if (schemaType === 'JSON') return /^[ \t\r\n]*[[{"tfn0-9-]/.test(payload.subarray(0, 64).toString('latin1'))
  if (schemaType === 'PROTOBUF') return hasMessageIndexes(payload)
  return true
}

export interface MessageIndexes {
  indexes: readonly number[]
  /** Where the message begins. */
  end: number
}

/**
 * A number of indexes and that many of them, which lead to one of the messages of a file; none is the first. They are zigzag
 * integers; some old clients have written plain ones. Undefined if the payload does not begin like that.
 */
export function readMessageIndexes(payload: Buffer, isZigzag: boolean): MessageIndexes | undefined {
  let end = 0
  const next = (): number => {
    let raw = 0
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = payload[end++]
      if (byte === undefined) return -1
      raw |= (byte & 0x7f) << shift
      if (byte < 0x80) return isZigzag ? (raw >>> 1) ^ -(raw & 1) : raw
    }
    return -1
  }
  const count = next()
  if (count < 0) return undefined
  const indexes: number[] = []
  while (indexes.length < count) {
    const index = next()
    if (index < 0) return undefined
    indexes.push(index)
  }
  return { indexes: count === 0 ? [0] : indexes, end }
}

export function hasMessageIndexes(payload: Buffer): boolean {
  return readMessageIndexes(payload, true) !== undefined || readMessageIndexes(payload, false) !== undefined
}
