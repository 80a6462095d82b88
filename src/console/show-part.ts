import { isUtf8 } from 'node:buffer'
import type { FoundRecord } from '../inspect/found-record.ts'
import type { Decoded, SchemaDecoder, UsedSchema } from '../inspect/schema-decoder.ts'
import { formatJsonStart } from '../lib/json.ts'
import { formatBytes } from '../lib/units.ts'

/** The beginning of a key or value, of bounded size and independent of the batch that it was read from. */
export interface PartView {
  form: 'null' | 'json' | 'text' | 'binary'
  text: string
  /** There is more than `text`. */
  isCut: boolean
  /** Of all bytes. */
  size: number
  schema?: UsedSchema
  /** Why it is not decoded though it names a schema, or may. */
  reason?: string
}

export interface HeaderView extends PartView {
  /** The stored bytes of a decoded one, which conditions compare. */
  hex?: Pick<PartView, 'text' | 'isCut'>
}

const MAX_HEX_CHARS = 64

export interface PartLimits {
  /** Of the shown text, in characters. */
  maxChars: number
  /** Decoding takes several times the memory of the bytes. */
  maxDecodedBytes: number
  /** In several lines. */
  isIndented: boolean
}

/** In a list, and on the page of one record. */
export const rowLimits: PartLimits = { maxChars: 300, maxDecodedBytes: 64 << 10, isIndented: false }
export const recordLimits: PartLimits = { maxChars: 64 << 10, maxDecodedBytes: 4 << 20, isIndented: true }

/** The decoder must be prepared for the record. */
export function viewPart(
  record: Pick<FoundRecord, 'key' | 'value' | 'headers'>,
  part: 'key' | 'value',
  decoder: SchemaDecoder,
  limits: PartLimits,
): PartView {
  const bytes = record[part]
  if (bytes === null) return { form: 'null', text: '', isCut: false, size: 0 }
  return viewDecoded(bytes, () => decoder.decode(record, part), limits)
}

/** The value of a header; likewise. */
export function viewHeader([name, bytes]: [string, Buffer | null], decoder: SchemaDecoder): HeaderView | null {
  if (bytes === null) return null
  const view = viewDecoded(bytes, () => decoder.decodeHeader(name, bytes), rowLimits)
  return view.schema ? { ...view, hex: cut(bytes.toString('hex'), MAX_HEX_CHARS) } : view
}

function viewDecoded(bytes: Buffer, decode: () => Decoded, limits: PartLimits): PartView {
  if (bytes.length > limits.maxDecodedBytes) return viewLarge(bytes, limits)
  const decoded = decode()
  if (decoded.kind === 'decoded') {
    const text = formatJsonStart(decoded.value, limits.maxChars, limits.isIndented ? 2 : 0)
    return { form: 'json', ...cut(text, limits.maxChars), size: bytes.length, schema: decoded.schema }
  }
  const view = viewBytes(bytes, limits)
  return decoded.kind === 'raw' ? { ...view, reason: decoded.reason } : view
}

/** What names a schema begins with the byte 0 or 1. */
function viewLarge(bytes: Buffer, limits: PartLimits): PartView {
  const view = viewBytes(bytes, limits)
  if ((bytes[0] ?? 2) > 1) return view
  return { ...view, reason: `${formatBytes(bytes.length)} are not decoded here; kafka-backup cat decodes them` }
}

/** Text where all bytes are; otherwise the first of them as hex. */
export function viewBytes(
  bytes: Buffer,
  { maxChars, isIndented }: Pick<PartLimits, 'maxChars' | 'isIndented'>,
): PartView {
  const isText = isUtf8(bytes) && !bytes.includes(0)
  if (!isText) return { form: 'binary', ...cutBytes(bytes, maxChars, isIndented), size: bytes.length }
  // One more character than is shown has at most four bytes.
  const start = bytes.subarray(0, 4 * (maxChars + 1)).toString('utf8')
  const { text, isCut } = cut(start, maxChars)
  return { form: 'text', text, isCut: isCut || bytes.length > 4 * (maxChars + 1), size: bytes.length }
}

export function cut(text: string, maxChars: number): { text: string; isCut: boolean } {
  if (text.length <= maxChars) return { text, isCut: false }
  // The copy does not keep the whole text in memory.
  return { text: Buffer.from(text.slice(0, maxChars).toWellFormed()).toString('utf8'), isCut: true }
}

const DUMP_BYTES = 16

function cutBytes(bytes: Buffer, maxChars: number, isDump: boolean): { text: string; isCut: boolean } {
  const shown = bytes.subarray(0, isDump ? Math.floor(maxChars / 78) * DUMP_BYTES : maxChars >> 1)
  return { text: isDump ? hexDump(shown) : shown.toString('hex'), isCut: shown.length < bytes.length }
}

/** Offset, bytes and characters, as `hexdump -C` prints them. */
export function hexDump(bytes: Buffer): string {
  const lines: string[] = []
  for (let at = 0; at < bytes.length; at += DUMP_BYTES) {
    const line = bytes.subarray(at, at + DUMP_BYTES)
    const hex = line
      .toString('hex')
      .replace(/../g, '$& ')
      .padEnd(3 * DUMP_BYTES)
    const text = line.toString('latin1').replace(/[^ -~]/g, '.')
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex} |${text}|`)
  }
  return lines.join('\n')
}
