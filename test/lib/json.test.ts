import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  doubleOf,
  formatJson,
  formatJsonItems,
  formatJsonPieces,
  formatJsonStart,
  parseExactJson,
  parseJson,
} from '../../src/lib/json.ts'

const beyond = [2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n), 10n ** 30n]

test('whole numbers beyond the reach of a double survive, in every place and with either sign', () => {
  for (const value of beyond) {
    const nested = { a: [value, { b: value }] }
    assert.deepEqual(parseJson(formatJson(nested)), nested)
    assert.equal(formatJson(value), value.toString())
  }
})

test('small whole numbers come back as numbers, whatever they were written from', () => {
  assert.deepEqual(parseJson(formatJson({ a: 5n, b: 5, c: -1n, d: 2n ** 53n - 1n })), {
    a: 5,
    b: 5,
    c: -1,
    d: Number.MAX_SAFE_INTEGER,
  })
})

test('what is no whole number stays what it was', () => {
  const text = '[0.1,1e20,1.5e300,-0.25,"9007199254740993",null,true]'
  assert.deepEqual(parseJson(text), [0.1, 1e20, 1.5e300, -0.25, '9007199254740993', null, true])
})

test('zero below zero is kept as it is written, where exact numbers are asked for', () => {
  for (const text of ['-0', '-0.0', '-0.000', '-0e5', '[-0,1]', '{"a":-0.0}', '[1,-0 ]', '{"a":{"b":[-0]}}']) {
    assert.equal(formatJson(parseExactJson(text)), text.replaceAll(' ', ''))
    assert.ok(Object.is(doubleOf(parseExactJson('-0.0')), -0))
  }
  for (const text of ['0', '[-0.5]', '{"a":"-0"}', '{"-0":0}']) assert.equal(formatJson(parseExactJson(text)), text)
})

test('the text can be indented, and has digits without quotes', () => {
  assert.equal(formatJson({ offset: 9_007_199_254_740_993n }, 1), '{\n "offset": 9007199254740993\n}')
})

test('a number of a million digits is read without making a bigint of it, and kept where exact numbers are asked for', () => {
  for (const digits of ['9'.repeat(1_000_000), `-1${'0'.repeat(1_000_000)}1`]) {
    const text = `{"offset":${digits}}`
    const { offset } = parseJson(text) as { offset: unknown }
    assert.equal(Math.abs(Number(offset)), Number.POSITIVE_INFINITY)
    assert.equal(typeof offset, 'number')
    assert.equal(formatJson(parseExactJson(text)), text)
  }
})

test('what is no JSON throws', () => {
  for (const text of ['', '{', '[1,]', '01', 'NaN']) assert.throws(() => parseJson(text), SyntaxError)
})

test('the pieces of a document are its text with the same indent', () => {
  const list = Array.from({ length: 5000 }, (_, i) => ({
    offset: BigInt(i),
    text: 'a\n"b"',
    empty: {},
    none: [],
    nested: [[i]],
  }))
  const documents: unknown[] = [
    ...[{}, [], null, 7, 5n, 'a\nb', true, new Date(0), new Map()],
    ...[
      [1, { a: 1 }],
      { a: undefined },
      { a: [] },
      { a: [undefined, null] },
      { a: undefined, b: 1 },
      { a: { b: [1, {}] } },
    ],
    ...[
      { list, after: 1 },
      { before: 'x', list, other: list.slice(0, 3) },
      { 'a "name"': [new Date(0), 'a\nb', [2n]] },
    ],
  ]
  for (const document of documents) {
    for (const indent of [1, 2]) {
      const pieces = [...formatJsonPieces(document, indent)]
      assert.equal(pieces.join(''), formatJson(document, indent))
      assert.ok(pieces.every(piece => piece.length < 70_000))
    }
  }
})

test('the beginning of a text is that of the complete one, in every form', () => {
  const exact = parseExactJson('{"a":[],"b":{},"c":[1,[2,{"d":null}]],"e":"x\\n\\"","f":0.12345678901234567890123}')
  const values = [exact, { u: undefined, v: 5n, w: [undefined] }, [], {}, null, 'text', 7n, false, [[[]]]]
  for (const value of values) {
    for (const indent of [0, 2]) {
      const full = formatJson(value, indent)
      assert.equal(formatJsonStart(value, 1000, indent), full)
      for (const length of [0, 1, 5, 20]) {
        const start = formatJsonStart(value, length, indent)
        assert.equal(start.slice(0, length), full.slice(0, length))
        assert.equal(start.length > length, full.length > length)
      }
    }
  }
})

test('JSON in texts for each item is the JSON of the whole', () => {
  const list = [1, undefined, null, { x: 2n ** 63n, y: [] }, { toJSON: () => [1, 'ü€😀"'] }, [], {}]
  const document = {
    format: 'a "b"\n',
    missing: undefined,
    change: { lists: list, head: { deep: { deeper: { list } } }, none: {}, nothing: null },
    list,
    own: { toJSON: () => ({ a: 1 }) },
    raw: JSON.rawJSON('12345678901234567890'),
    at: new Date(0),
  }
  for (const value of [document, list, [document], {}, [], 5, 'text', null, { only: undefined }]) {
    assert.equal([...formatJsonItems(value)].join(''), formatJson(value))
  }
  assert.ok(
    [...formatJsonItems({ change: { lists: [document, document] } })].filter(text => text.length > 99).length === 2,
  )
})

test('a program that writes big integers as strings in its own JSON changes nothing, and keeps its way', () => {
  const own = { value: () => 'a string', configurable: true }
  Object.defineProperty(BigInt.prototype, 'toJSON', own)
  try {
    assert.equal(formatJson({ small: 5n, large: 2n ** 63n }), '{"small":5,"large":9223372036854775808}')
    assert.equal(JSON.stringify(5n), '"a string"')
  } finally {
    Reflect.deleteProperty(BigInt.prototype, 'toJSON')
  }
  assert.equal(formatJson([5n]), '[5]')
  assert.throws(() => JSON.stringify(5n), TypeError)
})
