import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AvroError } from '../../../src/registry/avro/avro-schema.ts'
import { checkDefaults, parseAvro } from '../../../src/registry/avro/parse-avro.ts'

const valid: [sentence: string, schema: unknown][] = [
  ['a primitive type', 'string'],
  ['a primitive type as an object', { type: 'string' }],
  ['a type within a type', { type: { type: 'array', items: 'int' } }],
  ['a record without fields', { type: 'record', name: 'R', fields: [] }],
  ['a record that holds itself', { type: 'record', name: 'R', fields: [{ name: 'r', type: ['null', 'R'] }] }],
  [
    'a type of the namespace around it',
    {
      type: 'record',
      name: 'a.b.R',
      fields: [
        { name: 'f', type: { type: 'fixed', name: 'F', size: 2 } },
        { name: 'g', type: 'a.b.F' },
        { name: 'h', type: 'F' },
      ],
    },
  ],
  ['an enum with a default', { type: 'enum', name: 'E', symbols: ['A', 'B'], default: 'B' }],
  [
    'arrays and maps in one union',
    [
      { type: 'array', items: 'int' },
      { type: 'map', values: 'int' },
    ],
  ],
  ['properties that nobody knows', { type: 'int', logicalType: 'date', 'x-anything': { a: 1 } }],
]

for (const [sentence, schema] of valid) {
  test(`Avro: ${sentence} is taken`, () => {
    assert.ok(parseAvro(JSON.stringify(schema)))
  })
}

const invalid: [schema: unknown, message: RegExp][] = [
  ['strnig', /"strnig" is not defined/],
  [7, /7 is not a schema/],
  [{ type: 'record', fields: [] }, /needs a "name"/],
  [{ type: 'record', name: 'R' }, /"R" needs "fields"/],
  [{ type: 'record', name: 'R', fields: {} }, /not a list/],
  [{ type: 'record', name: '1R', fields: [] }, /"1R" is not a valid name/],
  [{ type: 'record', name: 'a..R', fields: [] }, /not a valid name/],
  [{ type: 'record', name: 'int', fields: [] }, /primitive/],
  [{ type: 'record', name: 'R', fields: [{ name: 'a' }] }, /"R.a" needs "type"/],
  [{ type: 'record', name: 'R', fields: [{ name: 'a-b', type: 'int' }] }, /"a-b" is not a valid name/],
  [
    {
      type: 'record',
      name: 'R',
      fields: [
        { name: 'a', type: 'int' },
        { name: 'a', type: 'int' },
      ],
    },
    /field "a" twice/,
  ],
  [{ type: 'enum', name: 'E', symbols: ['A', 'A'] }, /symbol twice/],
  [{ type: 'enum', name: 'E', symbols: ['A-B'] }, /"A-B" is not a valid name/],
  [{ type: 'enum', name: 'E', symbols: ['A'], default: 'B' }, /none of its symbols/],
  [{ type: 'enum', name: 'E' }, /needs "symbols"/],
  [{ type: 'fixed', name: 'F', size: 1.5 }, /whole number/],
  [{ type: 'fixed', name: 'F' }, /whole number/],
  [{ type: 'array' }, /an array needs "items"/],
  [{ type: 'map' }, /a map needs "values"/],
  [['int', ['null']], /no other union/],
  [['int', 'int'], /int twice/],
  [{ logicalType: 'date' }, /needs "type"/],
  [
    [
      { type: 'fixed', name: 'F', size: 1 },
      { type: 'fixed', name: 'F', size: 2 },
    ],
    /defined twice/,
  ],
]

for (const [schema, message] of invalid) {
  test(`Avro: ${JSON.stringify(schema)} is refused`, () => {
    assert.throws(() => parseAvro(JSON.stringify(schema)), matches(message))
  })
}

test('a text that is no JSON is refused', () => {
  assert.throws(() => parseAvro('{"type":'), matches(/not JSON/))
})

test('a schema knows the types of its dependencies, and does not define them again', () => {
  const address = '{"type":"record","name":"com.x.Address","fields":[]}'
  const order = '{"type":"record","name":"Order","namespace":"com.x","fields":[{"name":"to","type":"Address"}]}'
  assert.throws(() => parseAvro(order), matches(/"Address" is not defined/))
  assert.ok(parseAvro(order, [address]))
  assert.throws(() => parseAvro(address, [address]), matches(/defined twice/))
})

const withDefault = (type: unknown, value: string) =>
  `{"type":"record","name":"R","fields":[{"name":"a","type":${JSON.stringify(type)},"default":${value}}]}`

const goodDefaults: [unknown, string][] = [
  ['int', '2147483647'],
  ['long', '9223372036854775807'],
  ['long', '-9223372036854775808'],
  ['double', '1'],
  ['bytes', '"\\u00ff"'],
  ['null', 'null'],
  [['null', 'int'], 'null'],
  [['null', 'int'], '5'],
  [{ type: 'array', items: 'int' }, '[1,2]'],
  [{ type: 'map', values: 'int' }, '{"a":1}'],
  [{ type: 'enum', name: 'E', symbols: ['A'] }, '"A"'],
  [{ type: 'record', name: 'S', fields: [{ name: 'x', type: 'int', default: 1 }] }, '{}'],
]

const badDefaults: [unknown, string][] = [
  ['int', '2147483648'],
  ['int', '"1"'],
  ['int', '1.5'],
  ['long', '9223372036854775808'],
  ['string', 'null'],
  ['boolean', '0'],
  [['null', 'int'], '"x"'],
  [{ type: 'array', items: 'int' }, '{}'],
  [{ type: 'map', values: 'int' }, '{"a":"b"}'],
  [{ type: 'enum', name: 'E', symbols: ['A'] }, '"B"'],
  [{ type: 'record', name: 'S', fields: [{ name: 'x', type: 'int' }] }, '{}'],
]

for (const [type, value] of goodDefaults) {
  test(`Avro: ${value} is a default of ${JSON.stringify(type)}`, () => {
    checkDefaults(parseAvro(withDefault(type, value)))
  })
}

for (const [type, value] of badDefaults) {
  test(`Avro: ${value} is no default of ${JSON.stringify(type)}`, () => {
    assert.throws(
      () => checkDefaults(parseAvro(withDefault(type, value))),
      matches(/the default of "R.a" is not a value/),
    )
  })
}

function matches(message: RegExp): (error: unknown) => boolean {
  return error => error instanceof AvroError && message.test(error.message)
}

test('a record of 50,000 fields is read at once', () => {
  const fields = Array.from({ length: 50_000 }, (_, at) => ({ name: `f${at}`, type: 'null' }))
  const startMs = performance.now()
  parseAvro(JSON.stringify({ type: 'record', name: 'R', fields }))
  assert.ok(performance.now() - startMs < 30_000, `${performance.now() - startMs} ms`)
})
