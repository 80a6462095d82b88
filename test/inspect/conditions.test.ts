import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { openBody } from '../../src/batch/compression.ts'
import { readHeader } from '../../src/batch/header.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { type Conditions, RecordMatcher } from '../../src/inspect/conditions.ts'
import { parsePathCondition } from '../../src/inspect/json-path.ts'
import { SchemaDecoder } from '../../src/inspect/schema-decoder.ts'
import { encodeBatch, encodeRecord } from '../fakes/batches.ts'
import { versionOf } from '../fakes/registry-snapshots.ts'

const never = new AbortController().signal
const order = {
  type: 'record',
  name: 'Order',
  fields: [
    { name: 'id', type: 'int' },
    { name: 'name', type: 'string' },
  ],
}
const versions = [
  versionOf('orders-value', 1, 1, { schema: JSON.stringify(order) }),
  versionOf('names-key', 1, 2, { schema: '"string"' }),
  versionOf('events-value', 1, 3, { schemaType: 'JSON', schema: '{}' }),
]
const schemas = {
  ofId: async (_: string, id: number) => versions.filter(one => one.id === id),
  all: async () => versions,
}

function frame(id: number, ...payload: number[]): Buffer {
  return Buffer.from([0, 0, 0, 0, id, ...payload])
}

/** Each stands in a batch with others that mean nothing. */
const records = {
  text: { key: 'customer-42', value: 'paid by Ada' },
  json: { key: 'eu/7', value: '{"id":7,"customer":{"name":"Ada"},"sum":1e2}' },
  escaped: { key: 'esc', value: '{"name":"\\u0041da","path":"a\\/b"}' },
  avro: { key: 'avro', value: frame(1, 84, 6, 65, 100, 97) },
  'avro, named by a header': {
    key: 'h',
    value: Buffer.from([84, 6, 65, 100, 97]),
    headers: { __value_schema_id: frame(1) },
  },
  'json with a schema': { key: 'j', value: frame(3, ...Buffer.from('{"id": 42, "name": "Eve"}')) },
  'avro key': { key: frame(2, 6, 65, 100, 97), value: 'x' },
  'unknown schema': { key: 'u', value: frame(9, 65, 100, 97, 33) },
  binary: { key: Buffer.from([0xff, 0x00, 0x1a]), value: Buffer.from([0xff, 0xfe]) },
  tombstone: { key: 'customer-43', value: null },
  headers: { key: 'k', value: 'v', headers: { trace: Buffer.from('t-1'), empty: null } },
} as const

type Name = keyof typeof records

function batchOf(name: Name, codec: 'none' | 'zstd') {
  const {
    key,
    value,
    headers = {},
  } = records[name] as {
    key: string | Buffer
    value: string | Buffer | null
    headers?: Record<string, Buffer | null>
  }
  const other = { key: Buffer.from('other'), value: Buffer.from('other') }
  const own = {
    key: Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers: Object.entries(headers),
  }
  const bytes = encodeBatch({ codec, records: [other, own, other] })
  const header = readHeader(bytes, 0)
  return { header, body: openBody(bytes, header), record: decodeRecords(bytes, header)[1] }
}

/** The names of the records that match. A batch of which none may match must hold none. */
async function found(changes: Partial<Conditions> & { where?: string[] }, codec: 'none' | 'zstd' = 'none') {
  const { where = [], ...rest } = changes
  const conditions: Conditions = { headers: [], paths: where.map(text => parsePathCondition(text)), ...rest }
  const names: string[] = []
  const skipped: string[] = []
  for (const name of Object.keys(records) as Name[]) {
    const matcher = new RecordMatcher(conditions, 'auto', new SchemaDecoder(schemas))
    const { body, header, record } = batchOf(name, codec)
    assert(record)
    const whole = { topic: 't', partition: 0, transaction: 'plain' as const, ...record }
    const isFound = await matcher.matches(whole, never)
    // With the schemas that were read for it, as in the middle of a search.
    const counted = matcher.notDecoded
    const isExcluded = matcher.excludes(record)
    assert.ok(!isExcluded || !isFound, `the record ${name} was excluded`)
    assert.equal(matcher.notDecoded, isExcluded ? 2 * counted : counted)
    const mayBe = matcher.mayMatch(body, header)
    assert.ok(mayBe || !isFound, `the batch of ${name} was sorted out`)
    if (isFound) names.push(name)
    if (!mayBe) skipped.push(name)
  }
  return { names, skipped }
}

describe('records are found', () => {
  test('by their key: bytes, as it is shown, or its beginning', async () => {
    assert.deepEqual((await found({ key: 'customer-42' })).names, ['text'])
    assert.deepEqual((await found({ key: 'Ada' })).names, ['avro key'])
    assert.deepEqual((await found({ key: 'ff001a' })).names, ['binary'])
    assert.deepEqual((await found({ keyPrefix: 'customer-' })).names, ['text', 'tombstone'])
    assert.deepEqual((await found({ keyPrefix: 'Ad' })).names, ['avro key'])
    assert.deepEqual((await found({ keyPrefix: 'ff0' })).names, ['binary'])
    assert.deepEqual((await found({ keyPrefix: '\ud83d' })).names, [])
    assert.deepEqual((await found({ key: '' })).names, [])
  })

  test('by text in the value, decoded or as it is stored', async () => {
    const all = ['text', 'json', 'avro', 'avro, named by a header', 'unknown schema']
    for (const codec of ['none', 'zstd'] as const) assert.deepEqual((await found({ text: 'Ada' }, codec)).names, all)
    assert.deepEqual((await found({ text: '"id":42' })).names, ['avro', 'avro, named by a header'])
    assert.deepEqual((await found({ text: 'customer-42' })).names, [])
  })

  test('by a path of the decoded value, or of a value that is JSON', async () => {
    assert.deepEqual((await found({ where: ['name=Ada'] })).names, ['escaped', 'avro', 'avro, named by a header'])
    const named = ['avro', 'avro, named by a header', 'json with a schema']
    assert.deepEqual((await found({ where: ['id=42'] })).names, named)
    assert.deepEqual((await found({ where: ['name=Eve'] })).names, ['json with a schema'])
    assert.deepEqual((await found({ where: ['sum=100'] })).names, ['json'])
    assert.deepEqual((await found({ where: ['sum=1e2'] })).names, ['json'])
    for (const number of ['7.', '+7', '7e0', '.7e1'])
      assert.deepEqual((await found({ where: [`id=${number}`] })).names, ['json'])
    assert.deepEqual((await found({ where: ['path=a/b'] })).names, ['escaped'])
    assert.deepEqual((await found({ where: ['customer.name=Ada', 'id<8'] })).names, ['json'])
    assert.deepEqual((await found({ where: ['customer'] })).names, ['json'])
  })

  test('by headers, and only if all conditions hold', async () => {
    assert.deepEqual((await found({ headers: [{ name: 'trace' }] })).names, ['headers'])
    assert.deepEqual((await found({ headers: [{ name: 'trace', value: 't-1' }, { name: 'empty' }] })).names, [
      'headers',
    ])
    assert.deepEqual((await found({ headers: [{ name: 'trace', value: 't-2' }] })).names, [])
    assert.deepEqual((await found({ headers: [{ name: 'trace' }], text: 'Ada' })).names, [])
  })

  test('and batches without a schema that hold nothing of it are not decoded', async () => {
    const { skipped } = await found({ text: 'nowhere' })
    assert.deepEqual(skipped, [
      'text',
      'json',
      'escaped',
      'json with a schema',
      'avro key',
      'unknown schema',
      'binary',
      'tombstone',
      'headers',
    ])
    assert.deepEqual((await found({ headers: [{ name: 'trace' }] })).skipped.length, Object.keys(records).length - 1)
    assert.deepEqual((await found({ where: ['name=nowhere'] })).skipped.includes('escaped'), false)
  })

  test('also in JSON whose schema is not known, and by headers as they are shown', async () => {
    const matches = async (changes: Partial<Conditions>, value: Buffer, headers: [string, Buffer | null][] = []) => {
      const bytes = encodeBatch({ records: [{ value, headers }] })
      const header = readHeader(bytes, 0)
      const [record] = decodeRecords(bytes, header)
      assert(record)
      const matcher = new RecordMatcher({ headers: [], ...changes }, 'auto', new SchemaDecoder(schemas))
      const isFound = await matcher.matches({ topic: 't', partition: 0, transaction: 'plain', ...record }, never)
      assert.ok(!isFound || matcher.mayMatch(openBody(bytes, header), header))
      return isFound
    }
    const paths = [parsePathCondition('id=42')]
    const json = Buffer.from('{"id":42}')
    assert.ok(await matches({ paths }, json, [['__value_schema_id', frame(99)]]))
    assert.ok(await matches({ paths }, json, [['__value_schema_id', Buffer.alloc(0)]]))
    assert.ok(await matches({ paths }, Buffer.concat([frame(99), json])))
    assert.ok(await matches({ headers: [{ name: 'h', value: '00ff12' }] }, json, [['h', Buffer.from([0, 255, 18])]]))
    assert.ok(await matches({ headers: [{ name: 'h', value: 'a\ufffd' }] }, json, [['h', Buffer.from([0x61, 0xff])]]))
    // As hexadecimal digits, whether or not the bytes are text.
    for (const stored of ['41424344', '010203', 'ff00', '00ff12', 'abcdef'])
      for (const value of [stored, stored.toUpperCase()])
        assert.ok(await matches({ headers: [{ name: 'h', value }] }, json, [['h', Buffer.from(stored, 'hex')]]), value)
    for (const value of ['4142434', '414243', '']) {
      assert.ok(!(await matches({ headers: [{ name: 'h', value }] }, json, [['h', Buffer.from('ABCD')]])), value)
    }
  })

  test('in every frame of a batch, and by names of headers that are not text', async () => {
    const records = [encodeRecord({ value: Buffer.from('v') }, 0), encodeRecord({ headers: [['trace', null]] }, 1)]
    const split = encodeBatch({
      codec: 'zstd',
      records: [{}, {}],
      body: Buffer.concat(records.map(one => zstdCompressSync(one))),
    })
    const broken = encodeRecord({ headers: [['tr\ufffd', null]] }, 0)
    broken.write('\xff\xff\xff', broken.indexOf('\ufffd'), 'latin1')
    const cases: [Buffer, { name: string }][] = [
      [split, { name: 'trace' }],
      [encodeBatch({ body: broken }), { name: 'tr\ufffd\ufffd\ufffd' }],
    ]
    for (const [bytes, wanted] of cases) {
      const header = readHeader(bytes, 0)
      const matcher = new RecordMatcher({ headers: [wanted] }, 'auto', new SchemaDecoder(schemas))
      const record = decodeRecords(bytes, header).at(-1)
      assert(record)
      assert.ok(await matcher.matches({ topic: 't', partition: 0, transaction: 'plain', ...record }, never))
      assert.ok(matcher.mayMatch(openBody(bytes, header), header))
    }
  })

  test('and most other records of their batch are excluded by their bytes', async () => {
    const excluded = async (conditions: Conditions) => {
      const decoder = new SchemaDecoder(schemas)
      const matcher = new RecordMatcher(conditions, 'auto', decoder)
      const names = Object.keys(records) as Name[]
      const isExcluded = (name: Name) => matcher.excludes(batchOf(name, 'none').record ?? assert.fail())
      const unread = names.filter(isExcluded)
      await Promise.all(
        names.map(name => decoder.prepare(batchOf(name, 'none').record ?? assert.fail(), ['value'], never)),
      )
      return { unread, read: names.filter(isExcluded), notDecoded: matcher.notDecoded }
    }
    const bytesOnly = ['text', 'json', 'escaped', 'avro key', 'binary', 'tombstone', 'headers']
    assert.deepEqual(await excluded({ headers: [], text: 'nowhere' }), {
      unread: bytesOnly,
      read: [...bytesOnly.slice(0, 4), 'unknown schema', ...bytesOnly.slice(4)],
      notDecoded: 1,
    })
    // The text of others is in their bytes, or may be in their decoded form.
    assert.deepEqual((await excluded({ headers: [], text: 'other' })).unread, bytesOnly)
    assert.deepEqual((await excluded({ headers: [], text: 'paid' })).unread, bytesOnly.slice(1))
    // A key may be decoded, and what `matches` counts depends on it.
    assert.deepEqual((await excluded({ headers: [], text: 'nowhere', key: 'k' })).read, [])
    const without = Object.keys(records).filter(name => name !== 'headers')
    assert.deepEqual((await excluded({ headers: [{ name: 'trace' }] })).read, without)
  })

  test('and a batch that is not what it claims is refused as such', () => {
    const bytes = encodeBatch({ body: Buffer.from([0x0c, 0, 0, 0, 1, 1, 0x50]) })
    const header = readHeader(bytes, 0)
    const matcher = new RecordMatcher({ headers: [], text: 'x' }, 'auto', new SchemaDecoder(schemas))
    assert.throws(() => matcher.mayMatch(openBody(bytes, header), header), { code: 'BATCH_INVALID' })
  })

  test('and values that a schema does not explain are counted', async () => {
    const decoder = new SchemaDecoder(schemas)
    const matcher = new RecordMatcher({ headers: [], text: 'Ada' }, 'auto', decoder)
    const { record } = batchOf('unknown schema', 'none')
    assert(record)
    await matcher.matches({ topic: 't', partition: 0, transaction: 'plain', ...record }, never)
    assert.equal(matcher.notDecoded, 1)
    const { body, header } = batchOf('unknown schema', 'none')
    assert.equal(
      new RecordMatcher({ headers: [], text: 'x' }, 'auto', new SchemaDecoder(schemas)).mayMatch(body, header),
      true,
    )
    const other = new RecordMatcher({ headers: [], text: 'x' }, 'auto', decoder)
    assert.equal(other.mayMatch(body, header), false)
    assert.equal(other.notDecoded, 1)
  })

  test('and keys that a schema does not explain are counted, in batches that are not opened, too', async () => {
    const key = frame(9, 84, 65)
    const bytes = encodeBatch({ records: [{ key, value: null }, { key }, { key: Buffer.from('k') }] })
    const header = readHeader(bytes, 0)
    const [record] = decodeRecords(bytes, header)
    assert(record)
    const whole = { topic: 't', partition: 0, transaction: 'plain' as const, ...record }
    for (const asked of [{ key: '42' }, { keyPrefix: 'cu' }]) {
      const decoder = new SchemaDecoder(schemas)
      const matcher = new RecordMatcher({ headers: [], ...asked }, 'auto', decoder)
      assert.equal(matcher.mayMatch(openBody(bytes, header), header), true)
      assert.equal(await matcher.matches(whole, never), false)
      assert.deepEqual([matcher.keysNotDecoded, matcher.notDecoded], [1, 0])
    }
    const decoder = new SchemaDecoder(schemas)
    const matcher = new RecordMatcher({ headers: [], key: 'customer' }, 'auto', decoder)
    await decoder.prepare(record, ['key'], never)
    assert.equal(matcher.mayMatch(openBody(bytes, header), header), false)
    assert.deepEqual([matcher.keysNotDecoded, matcher.notDecoded], [2, 0])
    // As bytes, they need no schema.
    const hex = new RecordMatcher({ headers: [], key: 'aa' }, 'hex', decoder)
    await hex.matches(whole, never)
    assert.equal(hex.keysNotDecoded, 0)
  })

  describe('within limits', () => {
    const limits = { maxDecodedBytes: 16, maxTextChars: 2 << 20 }
    const judge = async (
      changes: Partial<Conditions>,
      record: { key?: Buffer; value: Buffer; headers?: [string, Buffer][] },
    ) => {
      const matcher = new RecordMatcher({ headers: [], ...changes }, 'auto', new SchemaDecoder(schemas), limits)
      const place = { topic: 't', partition: 0, transaction: 'plain' as const, offset: 0n, timestamp: 0n }
      const isFound = await matcher.matches({ ...place, key: null, headers: [], ...record }, never)
      return [isFound, matcher.tooLarge, matcher.notDecoded]
    }
    const paths = [parsePathCondition('a=1')]
    const [small, large] = [Buffer.from('{"a":1}'), Buffer.from(`{"a":1,"b":"${'x'.repeat(9)}"}`)]
    const name = [20, ...Buffer.from('Ada Adaeze')]
    const text = Buffer.alloc(17, 'x')

    test('fields of larger values are not compared, which is counted', async () => {
      assert.deepEqual(await judge({ paths }, { value: small }), [true, 0, 0])
      assert.deepEqual(await judge({ paths }, { value: large }), [false, 1, 0])
      assert.deepEqual(await judge({ paths, text: 'no' }, { value: large }), [false, 0, 0])
      assert.deepEqual(await judge({ paths, headers: [{ name: 'h' }] }, { value: large }), [false, 0, 0])
    })

    test('larger values are searched as they are stored, and counted if a schema may give them another form', async () => {
      assert.deepEqual(await judge({ text: '"a":1' }, { value: large }), [true, 0, 0])
      assert.deepEqual(await judge({ text: 'no' }, { value: large }), [false, 0, 0])
      assert.deepEqual(await judge({ text: 'no' }, { value: frame(1, 84, ...name) }), [false, 1, 0])
      assert.deepEqual(await judge({ text: 'no' }, { value: frame(3, ...large) }), [false, 0, 0])
      const headers: [string, Buffer][] = [['__value_schema_id', frame(1)]]
      assert.deepEqual(await judge({ text: 'no' }, { value: large, headers }), [false, 1, 0])
    })

    test('larger keys likewise', async () => {
      const [key, framed] = [text, frame(2, 24, ...Buffer.from('Ada Lovelace'))]
      assert.deepEqual(await judge({ keyPrefix: 'xx' }, { key, value: small }), [true, 0, 0])
      assert.deepEqual(await judge({ keyPrefix: 'xy' }, { key, value: small }), [false, 0, 0])
      assert.deepEqual(await judge({ key: 'Ada Lovelace' }, { key: framed, value: small }), [false, 1, 0])
      assert.deepEqual(await judge({ key: framed.toString('utf8') }, { key: framed, value: small }), [true, 0, 0])
    })

    test('a value of a few bytes may be too long as text, and counts as searched as it is stored', async () => {
      const fields = [{ name: 'n'.repeat(1000), type: 'null' }]
      const schema = JSON.stringify({ type: 'array', items: { type: 'record', name: 'R', fields } })
      versions.push(versionOf('lists-value', 1, 4, { schema }))
      const value = frame(4, 0xa0, 0x9c, 0x01, 0) // 10,000 items
      assert.deepEqual(await judge({ text: 'needle' }, { value }), [false, 1, 1])
      assert.deepEqual(await judge({ text: 'nnn":null},{"n' }, { value }), [true, 0, 0])
      // Not formatted for more than is asked for.
      assert.deepEqual(await judge({ key: '[{"nn' }, { key: value, value: small }), [false, 0, 0])
      assert.deepEqual(await judge({ keyPrefix: '[{"nn' }, { key: value, value: small }), [true, 0, 0])
    })
  })
})
