import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findInJson, isLongJson } from '../../src/inspect/condition-text.ts'
import { formatJson, parseExactJson } from '../../src/lib/json.ts'

/** Longer than what is formatted as one string. */
const long = 1 << 19

describe('a text is found in decoded values', () => {
  const values = {
    scalars: [null, true, 1.5, -7n, 2n ** 70n, 'a"b\n', '', undefined],
    empty: [{}, [], { a: [] }, { a: {} }],
    'names and gaps': { 'a"b': 1, b: undefined, c: { d: [1, { e: null }] } },
    'exact numbers': parseExactJson('{"a":-0,"b":1.0000000000000000000001,"c":12345678901234567890}'),
    'lone surrogates': ['\ud83d', '\ude00\ud83d', '\ud83d\ude00'],
  }
  for (const [what, value] of Object.entries(values)) {
    test(`with ${what}, in pieces as in one string`, () => {
      for (const padding of [[], ['x'.repeat(long)]]) {
        const whole = [...padding, value, ...padding]
        const text = formatJson(value)
        for (let at = 0; at < text.length; at += 5) assert.equal(findInJson(whole, text.slice(at)), 'yes')
        assert.equal(findInJson(whole, `${text}!`), 'no')
      }
    })
  }

  test('at every border of the pieces, with escapes and pairs of characters', () => {
    for (const char of ['a', '\u0001', '"', '\ud83d\ude00', '\ud83d']) {
      for (const before of ['', 'b']) {
        const value = { text: before + char.repeat(long) }
        const text = formatJson(value)
        for (let at = 1 << 16; at < 1 << 20 && at < text.length; at += 1 << 16)
          assert.equal(findInJson(value, text.slice(at - 9, at + 9)), 'yes')
        assert.equal(findInJson(value, text), 'yes')
        assert.equal(findInJson(value, `${text}}`), 'no')
      }
    }
  })

  test('and the answer is not no where the text is too long to be searched', () => {
    const value = Array(1000).fill({ ['n'.repeat(100_000)]: null })
    assert.equal(findInJson(value, 'needle', 1 << 20), 'unclear')
    assert.equal(findInJson(value, 'null},{', 1 << 20), 'yes')
    assert.equal(findInJson(value, 'needle', 1 << 28), 'no')
    assert.equal(findInJson({ a: 'x'.repeat(2 << 20) }, 'needle', 1 << 20), 'unclear')
  })

  test('and a long needle leaves as much of the text to be searched as a short one', () => {
    const value = { a: Array(20).fill('x'.repeat(65_000)) }
    for (const length of [1, 60_000]) assert.equal(findInJson(value, 'y'.repeat(length), 2_000_000), 'no')
  })

  test('and the length of the text is known without it', () => {
    const value = Array(1000).fill({ ['n'.repeat(1000)]: 'x\u0001' })
    const { length } = formatJson(value)
    assert.deepEqual(
      [length - (1 << 17), length, length * 20].map(max => isLongJson(value, max)),
      [true, false, false],
    )
  })
})
