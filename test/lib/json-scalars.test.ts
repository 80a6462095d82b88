import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTooDeep, MAX_JSON_DEPTH, numberOf, textOf } from '../../src/lib/json.ts'
import { append, largest } from '../../src/lib/largest.ts'

const unprintable = JSON.parse('{"toString":1,"valueOf":1}')

test('a scalar is text and number, and an object is neither, whatever it holds', () => {
  assert.deepEqual([5, 2n ** 60n, 'a', true, null, unprintable, []].map(textOf), [
    ...['5', '1152921504606846976', 'a', 'true', '', '', ''],
  ])
  assert.deepEqual([5, 7n, '6', true, null, unprintable].map(numberOf), [5, 7, 6, Number.NaN, Number.NaN, Number.NaN])
})

test('the largest of more values than a call takes arguments', () => {
  assert.equal(largest(Array.from({ length: 500_000 }, (_, at) => at)), 499_999)
  assert.equal(largest([]), 0)
  assert.equal(largest([-5], 1), 1)
})

test('more items than a call takes arguments are appended', () => {
  const list = [0]
  append(list, Array(500_000).fill(1))
  assert.equal(list.length, 500_001)
})

test('depth is found without calling itself', () => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
  assert.equal(isTooDeep(nested(MAX_JSON_DEPTH)), false)
  assert.equal(isTooDeep(nested(MAX_JSON_DEPTH + 1)), true)
  assert.equal(isTooDeep(nested(200_000)), true)
  assert.equal(isTooDeep('text'), false)
})
