import type { KafkaRecord } from '../batch/records.ts'
import { formatJsonStart, parseJson } from '../lib/json.ts'
import { ID_FRAME_BYTES } from '../registry/ids/schema-id.ts'
import { type Answer, findInJson, MAX_SEARCHED_CHARS } from './condition-text.ts'
import type { Decoded, SchemaDecoder } from './schema-decoder.ts'
import { type Showing, type ShownPart, showPart, textOfPart } from './show-record.ts'

export interface KeyForms {
  forms: string[]
  reason?: string | undefined
}

/**
 * The texts that a key can be asked for with; the reason where a schema that it names does not decode it. Of a longer JSON text, at least the first
 * `maxChars` and one more: as many as are asked for.
 */
export function keyForms(
  record: Pick<KafkaRecord, 'key' | 'value' | 'headers'>,
  keyAs: Showing,
  decoder: SchemaDecoder,
  maxChars: number,
): KeyForms {
  const shown = showPart(record, 'key', keyAs, decoder)
  const form = startOfPart(shown, maxChars)
  return { forms: [form, ...(typeof shown.value === 'string' ? [shown.value] : [])], reason: shown.reason }
}

function startOfPart(part: ShownPart, maxChars: number): string {
  return part.encoding === 'json' ? formatJsonStart(part.value, maxChars) : textOfPart(part)
}

/** JSON is searched as it is stored, like all other text. */
export function hasDecodedText(decoded: Decoded, text: string, maxChars = MAX_SEARCHED_CHARS): Answer {
  if (decoded.kind !== 'decoded' || decoded.schema.type === 'JSON') return 'no'
  return findInJson(decoded.value, text, maxChars)
}

/**
 * Also of a value whose schema is not known, if it is an object or an array: digits may be a JSON number or, for example, an Avro integer, and nothing
 * tells which.
 */
export function jsonOf(decoded: Decoded): { value: unknown } | undefined {
  if (decoded.kind === 'decoded') return { value: decoded.value }
  if (decoded.kind === 'null') return undefined
  const { bytes } = decoded
  const isFramed = bytes[0] === 0
  const json = parsed(isFramed ? bytes.subarray(ID_FRAME_BYTES) : bytes)
  const isScalar = typeof json?.value !== 'object' || json.value === null
  return isScalar && (isFramed || decoded.kind === 'raw') ? undefined : json
}

function parsed(bytes: Buffer): { value: unknown } | undefined {
  try {
    return { value: parseJson(bytes.toString('utf8')) }
  } catch {
    return undefined
  }
}
