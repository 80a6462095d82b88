import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { damaged } from '../../src/archive/damage.ts'
import type { SchemaVersion } from '../../src/archive/registry-model.ts'
import { SchemaDecoder, type SchemaSource } from '../../src/inspect/schema-decoder.ts'
import { recordDocument, showHeaders, showPart } from '../../src/inspect/show-record.ts'
import { versionOf } from '../fakes/registry-snapshots.ts'

const never = new AbortController().signal
const guid = '0102030405060708090a0b0c0d0e0f10'
const person = { type: 'record', name: 'Person', fields: [{ name: 'name', type: 'string' }] }
const order = { type: 'record', name: 'Order', fields: [{ name: 'by', type: 'Person' }] }

const versions: SchemaVersion[] = [
  versionOf('person', 1, 1, { schema: JSON.stringify(person) }),
  versionOf('orders-value', 1, 2, {
    schema: JSON.stringify(order),
    references: [{ name: 'Person', subject: 'person', version: 1 }],
    guid,
  }),
  versionOf('events-value', 1, 3, { schemaType: 'JSON', schema: '{}' }),
  versionOf('proto-value', 1, 4, {
    schemaType: 'PROTOBUF',
    schema: 'syntax = "proto3"; message A { string a = 1; message B { int32 b = 1; } }',
  }),
  versionOf('bytes-value', 1, 5, { schema: '"bytes"' }),
  versionOf('broken-value', 1, 6, { schemaType: 'PROTOBUF', schema: 'message {' }),
  versionOf(':.eu:orders-value', 1, 1, { schema: '"string"' }),
]

/** As a backup gives them: a subject as a whole, with what it refers to. */
function sourceOf(asked: string[] = []): SchemaSource {
  return {
    ofId: async (context, id) => {
      asked.push(`${context}/${id}`)
      const isIn = (one: SchemaVersion) => one.subject.startsWith(':.') === (context !== '.')
      const found = versions.find(one => one.id === id && isIn(one))
      return found ? (id === 2 ? [...versions.slice(0, 2)] : [found]) : []
    },
    all: async () => {
      asked.push('all')
      return versions
    },
  }
}

function frame(id: number, payload: Buffer | string): Buffer {
  const head = Buffer.alloc(5)
  head.writeInt32BE(id, 1)
  return Buffer.concat([head, Buffer.from(payload)])
}

async function decode(value: Buffer | null, headers: [string, Buffer | null][] = [], context?: string) {
  const decoder = new SchemaDecoder(sourceOf(), context)
  const record = { key: null, value, headers }
  await decoder.prepare(record, ['value'], never)
  return decoder.decode(record, 'value')
}

const ann = Buffer.from([6, 65, 110, 110])

describe('the value of a record', () => {
  test('that names an Avro schema is decoded with it, and with what it refers to', async () => {
    const schema = { id: 2, subject: 'orders-value', version: 1, type: 'AVRO' }
    const found = await decode(frame(2, ann))
    assert(found.kind === 'decoded')
    assert.deepEqual([found.schema, found.value], [schema, { by: { name: 'Ann' } }])
    assert.deepEqual(found.encoded.payload, ann)
  })

  test('that has a text which is not UTF-8 is shown as it is, with the reason: other characters would stand for its bytes', async () => {
    const latin1 = [0xc4, 0x6e, 0x6e]
    for (const bytes of [frame(2, Buffer.from([6, ...latin1])), frame(4, Buffer.from([0, 10, 3, ...latin1]))]) {
      const found = await decode(bytes)
      assert(found.kind === 'raw')
      assert.match(found.reason, /a string is not valid UTF-8/)
      const record = { key: null, value: bytes, headers: [] }
      const decoder = new SchemaDecoder(sourceOf())
      await decoder.prepare(record, ['value'], never)
      const shown = showPart(record, 'value', 'auto', decoder)
      assert.deepEqual([shown.encoding, shown.value], ['hex', bytes.toString('hex')])
      assert.match(shown.reason ?? '', /not valid UTF-8/)
    }
  })

  test('that names a JSON schema is JSON, with numbers of any size', async () => {
    const found = await decode(frame(3, '{"id":12345678901234567890}'))
    assert.deepEqual(found.kind === 'decoded' && found.value, { id: 12345678901234567890n })
  })

  for (const [what, indexes] of [
    ['the first', [0]],
    ['the first, by its index', [2, 0]],
  ] as const) {
    test(`that names ${what} message of a Protobuf schema is decoded`, async () => {
      const found = await decode(frame(4, Buffer.from([...indexes, 0x0a, 1, 65])))
      assert.deepEqual(found.kind === 'decoded' && found.value, { a: 'A' })
    })
  }

  test('that names a message inside another is decoded, also if an old client wrote plain indexes', async () => {
    for (const indexes of [
      [4, 0, 0],
      [2, 0, 0],
    ]) {
      const found = await decode(frame(4, Buffer.from([...indexes, 0x08, 5])))
      assert.deepEqual(found.kind === 'decoded' && found.value, { b: 5 })
    }
  })

  test('of the plain type bytes has no length before it', async () => {
    const found = await decode(frame(5, Buffer.from([255, 1])))
    assert.deepEqual(found.kind === 'decoded' && found.value, '\u00ff\u0001')
  })

  test('may be named by a GUID, before it or in a header', async () => {
    const magic = Buffer.concat([Buffer.from([1]), Buffer.from(guid, 'hex')])
    const before = await decode(Buffer.concat([magic, ann]))
    const inHeader = await decode(ann, [
      ['__value_schema_id', frame(1, '')],
      ['__value_schema_id', magic],
    ])
    for (const found of [before, inHeader]) {
      assert.deepEqual(found.kind === 'decoded' && found.value, { by: { name: 'Ann' } })
    }
  })

  test('is decoded with the schemas of the context that is asked for', async () => {
    const found = await decode(frame(1, ann), [], '.eu')
    assert.deepEqual(found.kind === 'decoded' && found.value, 'Ann')
  })

  test('that does not fit its schema is shown as it is, with the reason', async () => {
    const found = await decode(frame(2, 'x'))
    assert.equal(found.kind, 'raw')
    assert.match(found.kind === 'raw' ? found.reason : '', /schema ID 2 \(orders-value version 1\) does not fit: /)
  })

  test('that names a schema which is not in the backup, or cannot be understood, is shown as it is', async () => {
    const unknown = await decode(frame(99, ann))
    assert.deepEqual(unknown.kind === 'raw' && unknown.reason, 'the backup has no schema ID 99')
    const broken = await decode(frame(6, Buffer.from([0])))
    assert.match(broken.kind === 'raw' ? broken.reason : '', /\(broken-value version 1\) cannot be understood: /)
  })

  test('is shown as it is where its schema is damaged, or where it is JSON nested too deep to be shown', async () => {
    const source: SchemaSource = { ...sourceOf(), ofId: () => Promise.reject(damaged('v1.json', 'is missing')) }
    const decoder = new SchemaDecoder(source)
    const record = { key: null, value: frame(2, ann), headers: [] }
    await decoder.prepare(record, ['value'], never)
    const found = decoder.decode(record, 'value')
    assert.match(found.kind === 'raw' ? found.reason : '', /schema ID 2 cannot be read: .*v1\.json is missing/)
    const deep = await decode(frame(3, '['.repeat(5000) + ']'.repeat(5000)))
    assert.match(deep.kind === 'raw' ? deep.reason : '', /nested too deep/)
  })

  test('that is a number of eight bytes is not taken for one with an unknown schema', async () => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64BE(1_700_000_000_000n)
    assert.deepEqual(await decode(bytes), { kind: 'plain', bytes })
  })

  test('without a frame is plain, and null is null', async () => {
    const bytes = Buffer.from('text')
    assert.deepEqual(await decode(bytes), { kind: 'plain', bytes })
    assert.deepEqual(await decode(null), { kind: 'null' })
  })
})

test('headers are decoded by the schemas that they name, and all others shown as they are', async () => {
  const asked: string[] = []
  const decoder = new SchemaDecoder(sourceOf(asked))
  const number = Buffer.alloc(8)
  number.writeBigInt64BE(1_700_000_000_000n)
  const headers: [string, Buffer | null][] = [
    ['json', frame(3, '{"id":12345678901234567890}')],
    ['avro', frame(2, ann)],
    ['guid', Buffer.concat([Buffer.from([1]), Buffer.from(guid, 'hex'), ann])],
    ['text', Buffer.from('t-1')],
    ['null', null],
    ['number', number],
    // Three bytes that the schema of this ID would decode.
    ['fitting number', frame(3, '123')],
    ['unknown', frame(99, 'x')],
    ['wrong', frame(2, 'x')],
    // It belongs to the value, and has no payload.
    ['__value_schema_id', frame(2, '')],
  ]
  const record = {
    ...{ topic: 't', partition: 0, offset: 7n, timestamp: 0n, transaction: 'plain' as const },
    ...{ key: null, value: null, headers },
  }
  await decoder.prepareHeaders(record, never)
  const none = { encoding: 'null' as const, value: null }
  const shown = { key: none, value: none, headers: showHeaders(record, decoder) }
  const document = recordDocument(record, shown) as { headers: Record<string, unknown>[] }
  const schema = { id: 2, subject: 'orders-value', version: 1, type: 'AVRO' }
  const hexOf = (wanted: string) => headers.find(([name]) => name === wanted)?.[1]?.toString('hex')
  const [wrong, ...rest] = document.headers.filter(({ name }) => name === 'wrong')
  assert.deepEqual(rest, [])
  assert.match(String(wrong?.value_not_decoded), /schema ID 2 \(orders-value version 1\) does not fit: /)
  assert.deepEqual(
    document.headers.filter(one => one !== wrong),
    [
      {
        ...{ name: 'json', value: { id: 12345678901234567890n } },
        value_schema: { id: 3, subject: 'events-value', version: 1, type: 'JSON' },
        value_hex: hexOf('json'),
      },
      { name: 'avro', value: { by: { name: 'Ann' } }, value_schema: schema, value_hex: hexOf('avro') },
      { name: 'guid', value: { by: { name: 'Ann' } }, value_schema: schema, value_hex: hexOf('guid') },
      { name: 'text', value: 't-1' },
      { name: 'null', value: null },
      { name: 'number', value: number.toString('hex'), value_encoding: 'hex' },
      { name: 'fitting number', value: '0000000003313233', value_encoding: 'hex' },
      {
        ...{ name: 'unknown', value: frame(99, 'x').toString('hex'), value_encoding: 'hex' },
        value_not_decoded: 'the backup has no schema ID 99',
      },
      { name: '__value_schema_id', value: '0000000002', value_encoding: 'hex' },
    ],
  )
  assert.ok(!asked.includes(`./${number.readInt32BE(1)}`))
  // Those that are known are not asked for again.
  const before = asked.length
  await decoder.prepareHeaders({ headers: headers.slice(0, 3) }, never)
  assert.equal(asked.length, before)
})

test('a schema is asked for once, however many records name it', async () => {
  const asked: string[] = []
  const decoder = new SchemaDecoder(sourceOf(asked))
  for (const id of [2, 2, 99, 99, 2]) {
    await decoder.prepare({ key: null, value: frame(id, ann), headers: [] }, ['key', 'value'], never)
  }
  assert.deepEqual(asked, ['./2', './99'])
})
