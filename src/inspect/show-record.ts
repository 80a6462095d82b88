import { isUtf8 } from 'node:buffer'
import { formatJson } from '../lib/json.ts'
import type { Part } from '../registry/ids/schema-id.ts'
import { isLongJson } from './condition-text.ts'
import type { FoundRecord } from './found-record.ts'
import type { Decoded, EncodedPart, SchemaDecoder, UsedSchema } from './schema-decoder.ts'

/** How keys and values are shown: `auto` decodes what names a schema, and shows the rest as text, or as hex. */
export const showings = ['auto', 'text', 'hex', 'base64'] as const
export type Showing = (typeof showings)[number]

/** A key or a value for people and programs. */
export interface ShownPart {
  /** `json` is decoded; `hex` and `base64` are the bytes as they are. */
  encoding: 'null' | 'json' | 'text' | 'hex' | 'base64'
  value: unknown
  schema?: UsedSchema
  encoded?: EncodedPart
  /** Why it was not decoded, though it names a schema. */
  reason?: string
  /** Where it was to be decoded and no schema explains it. */
  bytes?: Buffer
}

export interface ShownHeader {
  name: string
  part: ShownPart
  /** The stored bytes of a decoded one, which conditions compare. */
  hex?: string
}

export function showPart(
  record: Pick<FoundRecord, 'key' | 'value' | 'headers'>,
  part: Part,
  showing: Showing,
  decoder: SchemaDecoder,
): ShownPart {
  const bytes = record[part]
  if (bytes === null) return { encoding: 'null', value: null }
  if (showing !== 'auto') return { encoding: showing, value: bytes.toString(showing === 'text' ? 'utf8' : showing) }
  return showDecoded(decoder.decode(record, part))
}

/** The decoder must be prepared for them. */
export function showHeaders({ headers }: Pick<FoundRecord, 'headers'>, decoder: SchemaDecoder): ShownHeader[] {
  return headers.map(([name, bytes]) => {
    const part = showDecoded(decoder.decodeHeader(name, bytes))
    return { name, part, ...(part.schema && bytes && { hex: bytes.toString('hex') }) }
  })
}

function showDecoded(decoded: Decoded): ShownPart {
  switch (decoded.kind) {
    case 'null':
      return { encoding: 'null', value: null }
    case 'decoded':
      return { encoding: 'json', value: decoded.value, schema: decoded.schema, encoded: decoded.encoded }
    case 'plain':
      return showBytes(decoded.bytes)
    case 'raw':
      return { ...showBytes(decoded.bytes), reason: decoded.reason }
    default:
      return decoded satisfies never
  }
}

/** Text where it is one to the last byte. A frame begins with a zero byte, which no text has. */
export function showBytes(bytes: Buffer): ShownPart {
  const isText = isUtf8(bytes) && !bytes.includes(0)
  const encoding = isText ? 'text' : 'hex'
  return { encoding, value: bytes.toString(isText ? 'utf8' : 'hex'), bytes }
}

/** On one line. */
export function textOfPart({ encoding, value }: ShownPart): string {
  if (encoding === 'null') return ''
  return encoding === 'json' ? formatJson(value) : String(value)
}

/** The record as a line of JSON holds it. */
export function recordDocument(
  record: FoundRecord,
  { key, value, headers }: { key: ShownPart; value: ShownPart; headers: readonly ShownHeader[] },
): object {
  const { topic, partition, offset, timestamp, transaction } = record
  return {
    ...{ topic, partition, offset, timestamp, time: timeOf(timestamp) },
    ...(transaction !== 'plain' && { transaction }),
    ...partDocument('key', key),
    ...partDocument('value', value),
    ...(value.encoding === 'null' && { tombstone: true }),
    headers: headerDocuments(headers),
  }
}

export function headerDocuments(headers: readonly ShownHeader[]): object[] {
  return headers.map(({ name, part, hex }) => ({
    name,
    ...partDocument('value', part),
    ...(hex !== undefined && { value_hex: hex }),
  }))
}

function partDocument(name: string, { encoding, value, schema, reason }: ShownPart): object {
  return {
    [name]: value,
    ...(encoding !== 'null' && encoding !== 'json' && encoding !== 'text' && { [`${name}_encoding`]: encoding }),
    ...(schema && { [`${name}_schema`]: schema }),
    ...(reason !== undefined && { [`${name}_not_decoded`]: reason }),
  }
}

/** A producer may have sent any number. */
const MAX_TIME = 8_640_000_000_000_000n

export function timeOf(timestamp: bigint): string | null {
  return timestamp < 0n || timestamp > MAX_TIME ? null : new Date(Number(timestamp)).toISOString()
}

/** A key, a value and all headers of so many characters each are one string in a line of JSON. */
const MAX_SHOWN_CHARS = 160 << 20
const tooLong = `it is longer than ${MAX_SHOWN_CHARS >> 20} MiB as text`

/** As it is stored where the text of a decoded key or value is longer: a few bytes may have a text that no string can hold. */
export function showShort(record: FoundRecord, part: Part, showing: Showing, decoder: SchemaDecoder): ShownPart {
  const shown = showPart(record, part, showing, decoder)
  const bytes = record[part]
  const mayBeLong = shown.encoding === 'json' && shown.schema?.type !== 'JSON'
  if (bytes === null || !mayBeLong || !isLongJson(shown.value, MAX_SHOWN_CHARS)) return shown
  return { ...showBytes(bytes), reason: tooLong }
}

/** Likewise, all of them together. */
export function showShortHeaders(record: FoundRecord, decoder: SchemaDecoder): ShownHeader[] {
  const shown = showHeaders(record, decoder)
  const values = shown.flatMap(({ part }) => (part.encoding === 'json' ? [part.value] : []))
  if (values.length === 0 || !isLongJson(values, MAX_SHOWN_CHARS)) return shown
  return shown.map((header, i) => {
    const bytes = record.headers[i]?.[1]
    return header.part.encoding === 'json' && bytes
      ? { name: header.name, part: { ...showBytes(bytes), reason: tooLong } }
      : header
  })
}
