import type { SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { ShownRecord } from '../inspect/print-format.ts'
import type { ShownPart } from '../inspect/show-record.ts'
import { partText } from './part-text.ts'
import { NO_BYTES, type RecordEncoder } from './record-encoder.ts'

type Row = Record<string, unknown>

const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const
const bytes = { type: 'BYTE_ARRAY' } as const
const required = { repetition_type: 'REQUIRED' } as const
const optional = { repetition_type: 'OPTIONAL' } as const

/** The same for keys and values: the bytes as they are stored, their text, and what became of them. */
function partColumns(part: 'key' | 'value'): SchemaElement[] {
  return [
    { name: part, ...bytes, ...optional },
    { name: `${part}_text`, ...text, ...optional },
    { name: `${part}_schema_id`, type: 'INT32', ...optional },
    { name: `${part}_not_decoded`, ...text, ...optional },
  ]
}

const columns: SchemaElement[] = [
  { name: 'topic', ...text, ...required },
  { name: 'partition', type: 'INT32', ...required },
  { name: 'offset', type: 'INT64', ...required },
  { name: 'timestamp', type: 'INT64', ...required },
  { name: 'transaction', ...text, ...required },
  ...partColumns('key'),
  ...partColumns('value'),
]

const headerColumns: SchemaElement[] = [
  { name: 'headers', ...required, num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', ...required, num_children: 2 },
  { name: 'name', ...text, ...required },
  { name: 'value', ...bytes, ...optional },
]

const schema: SchemaElement[] = [{ name: 'record', num_children: columns.length + 1 }, ...columns, ...headerColumns]

/** Rows are held in memory until a group of them is complete. */
const GROUP_BYTES = 32 << 20
const GROUP_ROWS = 50_000

/** A Parquet file with one row for each record, compressed with snappy. */
export function parquetEncoder(): RecordEncoder {
  const writer = new ByteWriter()
  const file = new ParquetWriter({ writer, schema })
  let rows: Row[] = []
  let heldBytes = 0
  const taken = (): Buffer => {
    const done = Buffer.from(writer.getBytes())
    writer.index = 0
    return done
  }
  const writeGroup = (): void => {
    if (rows.length === 0) return
    const names = [...columns.map(({ name }) => name), 'headers']
    // Dictionaries of values would take the memory that groups are there to bound.
    const columnData = names.map(name => ({ name, data: rows.map(row => row[name]), ...encodingOf(name) }))
    file.write({ columnData, rowGroupSize: rows.length })
    rows = []
    heldBytes = 0
  }
  return {
    start: taken,
    add: shown => {
      rows.push(rowOf(shown))
      heldBytes += sizeOf(shown)
      if (rows.length < GROUP_ROWS && heldBytes < GROUP_BYTES) return NO_BYTES
      writeGroup()
      return taken()
    },
    end: () => {
      writeGroup()
      file.finish()
      return taken()
    },
  }
}

const plainColumns = ['key', 'key_text', 'value', 'value_text']

function encodingOf(name: string): { encoding?: 'PLAIN' } {
  return plainColumns.includes(name) ? { encoding: 'PLAIN' } : {}
}

function rowOf({ record, key, value }: ShownRecord): Row {
  const { topic, partition, offset, timestamp, transaction } = record
  return {
    ...{ topic, partition, offset, timestamp, transaction },
    ...partRow('key', key, record.key),
    ...partRow('value', value, record.value),
    headers: record.headers.map(([name, one]) => ({ name, value: copyOf(one) })),
  }
}

function partRow(name: 'key' | 'value', part: ShownPart, stored: Buffer | null): Row {
  return {
    [name]: copyOf(stored),
    [`${name}_text`]: partText(part),
    [`${name}_schema_id`]: part.schema?.id ?? null,
    [`${name}_not_decoded`]: part.reason ?? null,
  }
}

/** The bytes of a record are a part of its batch, which must not stay in memory for its sake. */
function copyOf(stored: Buffer | null): Uint8Array | null {
  return stored && new Uint8Array(stored)
}

/** About: values are held as bytes and as text. */
function sizeOf({ record: { key, value, headers } }: ShownRecord): number {
  const sizes = [key, value, ...headers.map(([, one]) => one)].map(one => one?.length ?? 0)
  return sizes.reduce((sum, size) => sum + 3 * size, 200)
}
