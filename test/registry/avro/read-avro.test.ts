import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import avsc from 'avsc'
import { formatJson } from '../../../src/lib/json.ts'
import { parseAvro } from '../../../src/registry/avro/parse-avro.ts'
import { readAvro } from '../../../src/registry/avro/read-avro.ts'

function read(schema: unknown, bytes: Buffer): unknown {
  return readAvro(parseAvro(JSON.stringify(schema)), bytes, 0, bytes.length)
}

const everything = {
  type: 'record',
  name: 'Everything',
  namespace: 'test',
  fields: [
    { name: 'nothing', type: 'null' },
    { name: 'yes', type: 'boolean' },
    { name: 'small', type: 'int' },
    { name: 'large', type: 'long' },
    { name: 'half', type: 'float' },
    { name: 'third', type: 'double' },
    { name: 'bytes', type: 'bytes' },
    { name: 'text', type: 'string' },
    { name: 'color', type: { type: 'enum', name: 'Color', symbols: ['RED', 'GREEN'] } },
    { name: 'hash', type: { type: 'fixed', name: 'Hash', size: 3 } },
    { name: 'maybe', type: ['null', 'string', 'long'] },
    { name: 'list', type: { type: 'array', items: 'int' } },
    { name: 'map', type: { type: 'map', values: 'string' } },
    { name: 'child', type: ['null', 'Everything'] },
  ],
}

const value = {
  ...{ nothing: null, yes: true, small: -7, large: 9_007_199_254_740_990, half: 0.5, third: 1 / 3 },
  ...{ bytes: Buffer.from([0, 255, 65]), text: 'für', color: 'GREEN', hash: Buffer.from('abc'), maybe: 'yes' },
  ...{ list: [1, -2, 300], map: { a: 'b', constructor: 'c' }, child: null as unknown },
}

describe('a value of an Avro schema', () => {
  test('is what another library has written', () => {
    const type = avsc.Type.forSchema(everything as avsc.Schema, { wrapUnions: false })
    const bytes = type.toBuffer({ ...value, child: value })
    const shown = { ...value, bytes: '\u0000\u00ffA', hash: 'abc' }
    assert.deepEqual(read(everything, bytes), { ...shown, child: shown })
  })

  test('is exact beyond what a double holds', () => {
    const bytes = Buffer.from('feffffffffffffffff01', 'hex')
    assert.equal(read('long', bytes), 9_223_372_036_854_775_807n)
    assert.equal(read('long', Buffer.from('ffffffffffffffffff01', 'hex')), -9_223_372_036_854_775_808n)
  })

  test('that is a float is shown with the digits that its writer gave', () => {
    const float = (value: number) => {
      const bytes = Buffer.alloc(4)
      bytes.writeFloatLE(value)
      return readAvro(parseAvro('"float"', []), bytes, 0, 4)
    }
    for (const value of [19.99, 0.1, 1e-7, 3.4e38, -0.5, 1.1754944e-38, 0]) assert.equal(float(value), value)
    for (const value of [16_777_217, 1 / 3, 123_456_789])
      assert.equal(Math.fround(float(value) as number), Math.fround(value))
  })

  test('that is zero below zero keeps its sign in JSON, where every reader takes it for a fraction', () => {
    const bytes = Buffer.alloc(12)
    bytes.writeDoubleLE(-0)
    bytes.writeFloatLE(-0, 8)
    const pair = {
      type: 'record',
      name: 'P',
      fields: [
        { name: 'd', type: 'double' },
        { name: 'f', type: 'float' },
      ],
    }
    assert.equal(formatJson(read(pair, bytes)), '{"d":-0.0,"f":-0.0}')
    assert.equal(formatJson(read(pair, Buffer.alloc(12))), '{"d":0,"f":0}')
  })

  test('that JSON has no number for is a text', () => {
    assert.equal(read('double', Buffer.from('000000000000f87f', 'hex')), 'NaN')
    assert.equal(read('float', Buffer.from('000080ff', 'hex')), '-Infinity')
  })

  test('may be in blocks that say how long they are', () => {
    // Two items in a block of four bytes, one in another without a length.
    const bytes = Buffer.from([3, 4, 2, 4, 2, 6, 0])
    assert.deepEqual(read({ type: 'array', items: 'int' }, bytes), [1, 2, 3])
  })

  test('may have a field or a key with the name of something that every object has', () => {
    const schema = { type: 'record', name: 'R', fields: [{ name: '__proto__', type: 'string' }] }
    const found = read(schema, Buffer.from([2, 120])) as object
    assert.deepEqual(Object.entries(found), [['__proto__', 'x']])
    assert.equal(Object.getPrototypeOf(found), Object.prototype)
  })
})

describe('bytes that are no value of the schema are refused:', () => {
  const recursive = {
    type: 'record',
    name: 'Node',
    fields: [{ name: 'next', type: ['null', 'Node'] }],
  }
  const doubling = Array.from({ length: 40 }).reduce<unknown>(
    (inner, _, at) => ({
      type: 'record',
      name: `R${at}`,
      fields: [
        { name: 'a', type: inner },
        { name: 'b', type: at === 0 ? inner : `R${at - 1}` },
      ],
    }),
    'null',
  )
  const cases: [string, unknown, Buffer, RegExp][] = [
    ['a schema that doubles with each level', doubling, Buffer.alloc(0), /more than 100000 values without bytes/],
    ['a boolean of 2', 'boolean', Buffer.from([2]), /2 is not a boolean/],
    ['bytes that end too early', 'string', Buffer.from([10, 65]), /end too early/],
    ['bytes that are left over', 'int', Buffer.from([2, 2]), /1 bytes are left over/],
    ['a negative length', 'string', Buffer.from([1]), /end too early/],
    ['a branch that a union does not have', ['null', 'int'], Buffer.from([4]), /has no choice 2/],
    ['an integer without an end', 'long', Buffer.alloc(11, 0xff), /more than ten bytes/],
    ['a chain of records without an end', recursive, Buffer.alloc(200, 2), /nested more than 64 levels/],
    [
      'a list of a billion nulls',
      { type: 'array', items: 'null' },
      Buffer.from('80a8d6b907', 'hex'),
      /more than 100000 values without bytes/,
    ],
  ]
  for (const [what, schema, bytes, message] of cases) {
    test(what, () => {
      assert.throws(() => read(schema, bytes), message)
    })
  }
})
