import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import avsc from 'avsc'
import { avroChooser } from '../../src/export/avro.ts'
import type { RecordEncoder } from '../../src/export/record-encoder.ts'
import { framed, type SampleRecord, type SampleSchema, showAll } from './shown-records.ts'

/** Of 64 bits, which the library reads as a double otherwise. */
const bigLong = avsc.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(value)
    return bytes
  },
  fromJSON: BigInt,
  toJSON: String,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0),
})

/** The files by what follows the topic, read by another implementation of Avro. */
async function filesOf(samples: SampleRecord[], schemas: SampleSchema[]) {
  const choose = avroChooser()
  const encoders = new Map<string, { encoder: RecordEncoder; chunks: Buffer[] }>()
  for (const shown of await showAll(samples, schemas)) {
    const { suffix, open } = choose(shown)
    const known = encoders.get(suffix) ?? { encoder: open(), chunks: [] }
    if (known.chunks.length === 0) known.chunks.push(known.encoder.start())
    encoders.set(suffix, known)
    known.chunks.push(known.encoder.add(shown))
  }
  const files = new Map<string, { records: Record<string, unknown>[]; metadata: Record<string, Buffer> }>()
  for (const [suffix, { encoder, chunks }] of encoders) {
    files.set(suffix, await readContainer(Buffer.concat([...chunks, encoder.end()])))
  }
  return files
}

function readContainer(bytes: Buffer) {
  return new Promise<{ records: Record<string, unknown>[]; metadata: Record<string, Buffer> }>((resolve, reject) => {
    const parseHook = (schema: avsc.Schema) =>
      avsc.Type.forSchema(schema, { registry: { long: bigLong }, wrapUnions: true } as never)
    const decoder = new avsc.streams.BlockDecoder({ parseHook } as never)
    const records: Record<string, unknown>[] = []
    let metadata: Record<string, Buffer> = {}
    decoder.on('metadata', (_type, _codec, header) => {
      metadata = header.meta
    })
    decoder.on('data', record => records.push(record))
    decoder.on('error', reject)
    decoder.on('end', () => resolve({ records, metadata }))
    decoder.end(bytes)
  })
}

const order: SampleSchema = {
  ...{ id: 5, subject: 'orders-value', type: 'AVRO' },
  schema: JSON.stringify({
    ...{ type: 'record', name: 'Order', namespace: 'shop' },
    fields: [
      { name: 'id', type: 'long' },
      { name: 'price', type: { type: 'bytes', logicalType: 'decimal', precision: 20, scale: 2 } },
      { name: 'by', type: 'shop.people.Person' },
      { name: 'again', type: ['null', 'shop.people.Person'], default: null },
    ],
  }),
  references: [{ name: 'shop.people.Person', subject: 'person', version: 1 }],
}
const person: SampleSchema = {
  ...{ id: 4, subject: 'person', type: 'AVRO' },
  schema: '{"type":"record","name":"Person","namespace":"shop.people","fields":[{"name":"name","type":"string"}]}',
}
const wide = 9_223_372_036_854_775_807n
const orderType = avsc.Type.forSchema(
  {
    ...{ type: 'record', name: 'Order' },
    fields: [
      { name: 'id', type: 'long' },
      { name: 'price', type: 'bytes' },
      { name: 'by', type: { type: 'record', name: 'Person', fields: [{ name: 'name', type: 'string' }] } },
      { name: 'again', type: ['null', 'Person'] },
    ],
  } as never,
  { registry: { long: bigLong } } as never,
)
const price = Buffer.from([0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01])
const encoded = orderType.toBuffer({ id: wide, price, by: { name: 'Ann' }, again: { name: 'Bob' } })

describe('an Avro file', () => {
  test('has the schema of its values with what it refers to, and every digit', async () => {
    const key = Buffer.from([0, 1])
    const headers: [string, Buffer | null][] = [
      ['h', null],
      ['h', Buffer.from('2')],
    ]
    const sample = { key, value: framed(5, encoded), headers, offset: wide, partition: 3, timestamp: -1n }
    const files = await filesOf([sample], [order, person])
    assert.deepEqual([...files.keys()], ['.schema-5.avro'])
    const { records = [], metadata = {} } = files.get('.schema-5.avro') ?? {}
    assert.deepEqual(plain(records[0]), {
      ...{ partition: 3, offset: wide, timestamp: -1n, transaction: 'plain' },
      ...{ key: { bytes: key }, key_text: null, key_schema_id: null, key_not_decoded: null },
      headers: [
        { name: 'h', value: null },
        { name: 'h', value: { bytes: Buffer.from('2') } },
      ],
      value: { id: wide, price, by: { name: 'Ann' }, again: { 'shop.people.Person': { name: 'Bob' } } },
    })
    assert.equal(metadata['kafka_backup.subject']?.toString(), 'orders-value')
    assert.match(String(metadata['avro.schema']), /"logicalType":"decimal"/)
  })

  test('is one for each schema, and one of bytes for all other values', async () => {
    const text: SampleSchema = { id: 6, subject: 'text', type: 'AVRO', schema: '"string"' }
    const raw: SampleSchema = { id: 7, subject: 'raw', type: 'AVRO', schema: '{"type":"bytes"}' }
    const nested: SampleSchema = { id: 10, subject: 'nested', type: 'AVRO', schema: '{"type":{"type":"bytes"}}' }
    const union: SampleSchema = { id: 8, subject: 'union', type: 'AVRO', schema: '["null","long"]' }
    const json: SampleSchema = { id: 9, subject: 'json', type: 'JSON', schema: '{}' }
    const samples = [
      { value: framed(6, Buffer.from([4, 104, 105])) },
      { value: framed(7, 'abc') },
      { value: framed(8, Buffer.from([0])) },
      { value: framed(9, '{"a":1.00000000000000000001}') },
      { value: null },
      { value: 'plain' },
      { value: framed(99, 'x') },
      { value: framed(10, 'abcd') },
      { value: framed(10, 'ef') },
    ]
    const files = await filesOf(samples, [text, raw, union, json, nested])
    const values = (suffix: string) => files.get(suffix)?.records.map(({ value }) => value)
    assert.deepEqual(values('.schema-6.avro'), ['hi'])
    assert.deepEqual(values('.schema-7.avro'), [Buffer.from('abc')])
    assert.deepEqual(values('.schema-8.avro'), [null])
    assert.deepEqual(values('.schema-10.avro'), [Buffer.from('abcd'), Buffer.from('ef')])
    const bytes = files.get('.bytes.avro')?.records.map(plain) ?? []
    assert.deepEqual(
      bytes.map(one => [one.offset, one.value_text, one.value_schema_id]),
      [
        [3n, { string: '{"a":1.00000000000000000001}' }, { int: 9 }],
        [4n, null, null],
        [5n, { string: 'plain' }, null],
        [6n, null, null],
      ],
    )
    assert.deepEqual(
      bytes.map(one => one.value),
      samples.slice(3, 7).map(({ value }) => (value === null ? null : { bytes: Buffer.from(value) })),
    )
    assert.match(JSON.stringify(bytes[3]?.value_not_decoded), /no schema ID 99/)
    assert.deepEqual([...files.keys()].length, 5)
  })

  test('has values of one schema only, also where two contexts have the same ID and records name GUIDs', async () => {
    const guids = ['11111111-2222-3333-4444-555555555555', '99999999-2222-3333-4444-555555555555']
    const byGuid = (guid: string, payload: number[]) =>
      Buffer.from([1, ...Buffer.from(guid.replaceAll('-', ''), 'hex'), ...payload])
    const schemas: SampleSchema[] = [
      { id: 1, subject: 'orders-value', type: 'AVRO', schema: '"long"', guid: guids[0] ?? '' },
      { id: 1, subject: ':.eu:orders-value', type: 'AVRO', schema: '"string"', guid: guids[1] ?? '' },
      { id: 1, subject: 'same-value', type: 'AVRO', schema: ' "long" ', guid: guids[0] ?? '' },
    ]
    const samples = [
      { value: byGuid(guids[0] ?? '', [84]) },
      { value: byGuid(guids[1] ?? '', [4, 104, 105]) },
      { value: framed(1, Buffer.from([86])) },
    ]
    const files = await filesOf(samples, schemas)
    assert.deepEqual(
      [...files].map(([suffix, { records, metadata }]) => [
        suffix,
        String(metadata['kafka_backup.subject']),
        records.map(({ value }) => value),
      ]),
      [
        ['.schema-1.avro', 'orders-value', [42n, 43n]],
        ['.schema-1-2.avro', ':.eu:orders-value', ['hi']],
      ],
    )
  })

  test('has more than one block of records', async () => {
    const samples = Array.from({ length: 2000 }, (_, at) => ({ value: `${at}${'x'.repeat(500)}` }))
    const files = await filesOf(samples, [])
    const { records = [] } = files.get('.bytes.avro') ?? {}
    assert.deepEqual(
      records.map(({ offset }) => offset),
      samples.map((_, at) => BigInt(at)),
    )
  })
})

/** Without the classes of the library. */
function plain(value: unknown): Record<string, unknown> {
  const copy = (one: unknown): unknown => {
    if (Buffer.isBuffer(one) || typeof one !== 'object' || one === null) return one
    if (Array.isArray(one)) return one.map(copy)
    return Object.fromEntries(Object.entries(one).map(([name, item]) => [name, copy(item)]))
  }
  return copy(value) as Record<string, unknown>
}
