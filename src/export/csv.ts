import type { ShownRecord } from '../inspect/print-format.ts'
import { headerDocuments, type ShownPart, textOfPart, timeOf } from '../inspect/show-record.ts'
import { formatJson } from '../lib/json.ts'
import { NO_BYTES, type RecordEncoder } from './record-encoder.ts'

const columns = [
  ...['topic', 'partition', 'offset', 'timestamp', 'time', 'transaction'],
  ...['key', 'key_encoding', 'key_schema_id', 'key_not_decoded'],
  ...['value', 'value_encoding', 'value_schema_id', 'value_not_decoded'],
  'headers',
]

/**
 * Rows as in RFC 4180: fields with commas, quotes or line breaks are quoted, and lines end with CR LF. An empty field with the encoding `null`
 * is null; with another one it is an empty text.
 */
export function csvEncoder({ keepsFormulas }: { keepsFormulas: boolean }): RecordEncoder {
  const partFields = keepsFormulas ? fieldsOf : safeFieldsOf
  return {
    start: () => row(columns),
    add: ({ record, key, value, headers }: ShownRecord) => {
      const { topic, partition, offset, timestamp, transaction } = record
      const place = [topic, String(partition), String(offset), String(timestamp), timeOf(timestamp) ?? '', transaction]
      return row([...place, ...partFields(key), ...partFields(value), formatJson(headerDocuments(headers))])
    },
    end: () => NO_BYTES,
  }
}

function fieldsOf(part: ShownPart): string[] {
  return [textOfPart(part), part.encoding, part.schema ? String(part.schema.id) : '', part.reason ?? '']
}

/** A spreadsheet takes what begins like this for a formula, which may run programs. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const NUMBER = /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** A text that a spreadsheet would run gets an apostrophe before it, and its encoding says so. */
function safeFieldsOf(part: ShownPart): string[] {
  const [text = '', encoding = '', ...rest] = fieldsOf(part)
  if (!FORMULA.test(text) || NUMBER.test(text)) return [text, encoding, ...rest]
  return [`'${text}`, `escaped-${encoding}`, ...rest]
}

function row(fields: readonly string[]): Buffer {
  return Buffer.from(`${fields.map(quoted).join(',')}\r\n`)
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
