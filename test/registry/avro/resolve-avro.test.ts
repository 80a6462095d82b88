import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Mismatch, resolveAvro } from '../../../src/registry/avro/compatibility.ts'
import { parseAvro } from '../../../src/registry/avro/parse-avro.ts'

const primitives = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string']

/** What each writer's type may be read as, as the specification lists it. */
const readable: Record<string, string[]> = {
  null: ['null'],
  boolean: ['boolean'],
  int: ['int', 'long', 'float', 'double'],
  long: ['long', 'float', 'double'],
  float: ['float', 'double'],
  double: ['double'],
  bytes: ['bytes', 'string'],
  string: ['string', 'bytes'],
}

for (const writer of primitives) {
  test(`${writer} is read as ${readable[writer]?.join(', ')} and as no other primitive type`, () => {
    const fits = primitives.filter(reader => kinds(reader, writer).length === 0)
    assert.deepEqual(fits.sort(), readable[writer]?.slice().sort())
  })
}

const record = (fields: unknown[], more = {}) => ({ type: 'record', name: 'R', fields, ...more })
const enumOf = (symbols: string[], more = {}) => ({ type: 'enum', name: 'E', symbols, ...more })
const fixed = (size: number, more = {}) => ({ type: 'fixed', name: 'F', size, ...more })
const field = (name: string, type: unknown, more = {}) => ({ name, type, ...more })

const table: [sentence: string, reader: unknown, writer: unknown, expected: Mismatch['kind'][]][] = [
  ['items of arrays are promoted', { type: 'array', items: 'long' }, { type: 'array', items: 'int' }, []],
  ['items that do not fit', { type: 'array', items: 'int' }, { type: 'array', items: 'long' }, ['TYPE_MISMATCH']],
  ['values of maps are promoted', { type: 'map', values: 'bytes' }, { type: 'map', values: 'string' }, []],
  ['values that do not fit', { type: 'map', values: 'int' }, { type: 'map', values: 'string' }, ['TYPE_MISMATCH']],
  ['an array is no map', { type: 'array', items: 'int' }, { type: 'map', values: 'int' }, ['TYPE_MISMATCH']],
  ['a record is no enum of its name', record([]), { ...enumOf(['A']), name: 'R' }, ['TYPE_MISMATCH']],

  ['a field that the reader does not have is passed over', record([]), record([field('a', 'int')]), []],
  ['a new field with a default', record([field('a', 'int', { default: 0 })]), record([]), []],
  ['a default may be null', record([field('a', ['null', 'int'], { default: null })]), record([]), []],
  ['a new field without', record([field('a', 'int')]), record([]), ['READER_FIELD_MISSING_DEFAULT_VALUE']],
  [
    'the order of fields does not matter',
    record([field('b', 'int'), field('a', 'string')]),
    record([field('a', 'string'), field('b', 'int')]),
    [],
  ],
  ['a field is found by its alias', record([field('b', 'int', { aliases: ['a'] })]), record([field('a', 'int')]), []],
  [
    'an alias of the writer helps nobody',
    record([field('a', 'int')]),
    record([field('b', 'int', { aliases: ['a'] })]),
    ['READER_FIELD_MISSING_DEFAULT_VALUE'],
  ],
  ['a field of another type', record([field('a', 'int')]), record([field('a', 'string')]), ['TYPE_MISMATCH']],
  [
    'every field that does not fit is named',
    record([field('a', 'int'), field('b', 'int')]),
    record([field('a', 'string')]),
    ['TYPE_MISMATCH', 'READER_FIELD_MISSING_DEFAULT_VALUE'],
  ],
  ['records of other names', record([], { name: 'S' }), record([]), ['NAME_MISMATCH']],
  ['namespaces are not compared', record([], { namespace: 'x' }), record([], { namespace: 'y' }), []],
  ['a record is found by its alias', record([], { name: 'S', aliases: ['R'] }), record([]), []],
  [
    'an alias is of the namespace of its record',
    record([], { name: 'S', namespace: 'n', aliases: ['R'] }),
    record([], { namespace: 'n' }),
    [],
  ],
  [
    'an alias of another namespace is another name',
    record([], { name: 'S', namespace: 'n', aliases: ['R'] }),
    record([], { namespace: 'm' }),
    ['NAME_MISMATCH'],
  ],

  ['an enum with more symbols', enumOf(['A', 'B']), enumOf(['A']), []],
  ['an enum with fewer', enumOf(['A']), enumOf(['A', 'B']), ['MISSING_ENUM_SYMBOLS']],
  ['an enum with fewer and a default', enumOf(['A'], { default: 'A' }), enumOf(['A', 'B']), []],
  [
    'the default of the writer helps nobody',
    enumOf(['A']),
    enumOf(['A', 'B'], { default: 'A' }),
    ['MISSING_ENUM_SYMBOLS'],
  ],
  ['the order of symbols does not matter', enumOf(['B', 'A']), enumOf(['A', 'B']), []],
  ['enums of other names', enumOf(['A'], { name: 'G' }), enumOf(['A']), ['NAME_MISMATCH']],
  ['an enum by its alias', enumOf(['A'], { name: 'G', aliases: ['E'] }), enumOf(['A']), []],

  ['a fixed of the same size', fixed(4), fixed(4), []],
  ['a fixed of another size', fixed(4), fixed(5), ['FIXED_SIZE_MISMATCH']],
  ['a fixed of another name', fixed(4, { name: 'G' }), fixed(4), ['NAME_MISMATCH']],
  ['a fixed is not bytes', 'bytes', fixed(4), ['TYPE_MISMATCH']],

  ['a reader that takes more', ['null', 'int'], 'int', []],
  ['a reader that takes it promoted', ['null', 'long'], 'int', []],
  ['a reader that takes none of it', ['null', 'int'], 'string', ['MISSING_UNION_BRANCH']],
  ['a writer whose branches all fit', 'long', ['int', 'long'], []],
  ['a writer of which one does not', 'int', ['int', 'null'], ['TYPE_MISMATCH']],
  ['unions in another order', ['int', 'null'], ['null', 'int'], []],
  ['a union with a new branch', ['null', 'int', 'string'], ['null', 'int'], []],
  ['a union with a branch less', ['null', 'int'], ['null', 'int', 'boolean'], ['MISSING_UNION_BRANCH']],
  ['an empty union was never written', 'int', [], []],
  ['a record in a union is found by its name', ['null', record([])], record([field('a', 'int')]), []],
  [
    'a record in a union whose field does not fit',
    ['null', record([field('a', 'int')])],
    record([]),
    ['MISSING_UNION_BRANCH'],
  ],

  ['logical types do not matter', { type: 'long', logicalType: 'timestamp-millis' }, 'int', []],
]

for (const [sentence, reader, writer, expected] of table) {
  test(`resolution: ${sentence}: ${expected.join(', ') || 'fits'}`, () => {
    assert.deepEqual(kinds(reader, writer), expected)
  })
}

const list = (value: unknown, more: unknown[] = []) =>
  record([field('value', value), field('next', ['null', 'R'], { default: null }), ...more])

test('a recursive record fits itself and its promotion, and not what breaks within', () => {
  assert.deepEqual(kinds(list('int'), list('int')), [])
  assert.deepEqual(kinds(list('long'), list('int')), [])
  assert.deepEqual(kinds(list('int'), list('long')), ['TYPE_MISMATCH'])
  assert.deepEqual(kinds(list('int', [field('more', 'int', { default: 1 })]), list('int')), [])
  assert.deepEqual(kinds(list('int', [field('more', 'int')]), list('int')), ['READER_FIELD_MISSING_DEFAULT_VALUE'])
})

test('two records that name each other are compared to the end', () => {
  const pair = (leaf: string) =>
    record([field('b', record([field('r', ['null', 'R']), field('leaf', leaf)], { name: 'B' }))])
  assert.deepEqual(kinds(pair('long'), pair('int')), [])
  assert.deepEqual(kinds(pair('int'), pair('long')), ['TYPE_MISMATCH'])
})

test('a branch that fails takes nothing for granted for the next one', () => {
  const inner = (type: string) => record([field('x', type)], { name: 'Inner' })
  const reader = [record([field('i', inner('int')), field('must', 'int')]), 'null']
  const writer = record([field('i', inner('string'))])
  assert.deepEqual(kinds(reader, writer), ['MISSING_UNION_BRANCH'])
})

test('a schema that uses each type many times is compared in no time', () => {
  const deep = (leaf: string) => {
    let type: unknown = record([field('leaf', leaf)], { name: 'R0' })
    for (let i = 1; i <= 40; i++) {
      type = record([field('a', ['null', type]), field('b', ['null', `R${i - 1}`])], { name: `R${i}` })
    }
    return type
  }
  assert.deepEqual(kinds(deep('long'), deep('int')), [])
  assert.deepEqual(kinds(deep('int'), deep('string')), ['MISSING_UNION_BRANCH', 'MISSING_UNION_BRANCH'])
})

test('a mismatch says where it is', () => {
  const items = (type: string) => record([field('list', { type: 'array', items: type })])
  const [found] = resolve(items('int'), items('string'))
  assert.equal(found?.path, '/fields/list/type/items')
  assert.equal(found?.message, 'the reader expects int, the writer has string')
})

function resolve(reader: unknown, writer: unknown): Mismatch[] {
  return resolveAvro(parseAvro(JSON.stringify(reader)), parseAvro(JSON.stringify(writer)))
}

function kinds(reader: unknown, writer: unknown): Mismatch['kind'][] {
  return resolve(reader, writer).map(({ kind }) => kind)
}
