import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { endOfValue, fieldRanges, readItems, type TextRange } from '../../src/lib/json-text.ts'

const values: unknown[] = [
  [],
  {},
  '',
  'a, "b" ] } \\',
  '\u00e9\ud83d\ude00',
  -1.5e300,
  true,
  null,
  [[['x']], { 'a,b': [{}] }],
  { ']': '[', '\\"': ['\\\\"'] },
]
const nested = { first: values, second: { values }, third: [values, values] }

function parse(text: Buffer, { start, end }: { start: number; end: number }): unknown {
  return JSON.parse(text.toString('utf8', start, end))
}

function itemRanges(text: Buffer): TextRange[] {
  const ranges: TextRange[] = []
  readItems(text, 0, start => {
    const end = endOfValue(text, start)
    ranges.push({ start, end })
    return end
  })
  return ranges
}

describe('places in a JSON text', () => {
  for (const indent of [undefined, 2, '\t']) {
    test(`are those of its items and fields, indented with ${JSON.stringify(indent)}`, () => {
      const list = Buffer.from(JSON.stringify(values, undefined, indent))
      assert.deepEqual(
        itemRanges(list).map(range => parse(list, range)),
        values,
      )
      const object = Buffer.from(JSON.stringify(nested, undefined, indent))
      const fields = [...fieldRanges(object)].map(([name, range]) => [name, parse(object, range)])
      assert.deepEqual(Object.fromEntries(fields), nested)
    })
  }

  test('an empty array and an empty object have none', () => {
    assert.deepEqual(itemRanges(Buffer.from('[ ]')), [])
    assert.deepEqual([...fieldRanges(Buffer.from('{\n}'))], [])
  })

  test('of two fields with one name the last one counts', () => {
    const text = Buffer.from('{"a":1,"a":22}')
    assert.deepEqual(parse(text, fieldRanges(text).get('a') ?? assert.fail()), 22)
  })

  test('the reader of a field reads it, and the next field begins behind what it has read', () => {
    const text = Buffer.from('{"before":1,"list":[{"a":"]"}, 2],"after":3}')
    const items: unknown[] = []
    const readItem = (start: number) => {
      const end = endOfValue(text, start)
      items.push(parse(text, { start, end }))
      return end
    }
    const fields = fieldRanges(text, 0, new Map([['list', start => readItems(text, start, readItem)]]))
    assert.deepEqual(items, [{ a: ']' }, 2])
    assert.deepEqual(
      [...fields].map(([name, range]) => [name, parse(text, range)]),
      [
        ['before', 1],
        ['list', [{ a: ']' }, 2]],
        ['after', 3],
      ],
    )
  })

  test('a text that is cut off anywhere is refused', () => {
    const list = Buffer.from(JSON.stringify(values))
    for (let end = 0; end < list.length; end++) {
      assert.throws(() => itemRanges(list.subarray(0, end)), SyntaxError, `${end} bytes`)
    }
    const object = Buffer.from(JSON.stringify(nested))
    for (let end = 0; end < object.length; end++) {
      assert.throws(() => fieldRanges(object.subarray(0, end)), SyntaxError, `${end} bytes`)
    }
  })

  for (const text of ['5', '"[]"', '{}', '[1 2]', '[1}', '[[1}', '']) {
    test(`no array: ${text}`, () => assert.throws(() => itemRanges(Buffer.from(text)), SyntaxError))
  }
  for (const text of ['[]', '{"a" 1}', '{"a":1 "b":2}', '{"a":1]', '{5:1}', '{a:1}', '{,}']) {
    test(`no object: ${text}`, () => assert.throws(() => fieldRanges(Buffer.from(text)), SyntaxError))
  }
})
