import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileGlob, compileGlobs, isPattern } from '../../src/lib/glob.ts'

const table: [pattern: string, matches: string[], misses: string[]][] = [
  ['orders', ['orders'], ['orders-1', 'my-orders', 'Orders', '']],
  ['*', ['orders', '', '.hidden', 'a\nb'], []],
  ['orders-*', ['orders-', 'orders-1'], ['orders', 'my-orders-1']],
  ['*.dlq', ['a.dlq', '.dlq'], ['a-dlq', 'a.dlqs']],
  ['a?c', ['abc', 'a-c'], ['ac', 'abbc']],
  ['a**c', ['ac', 'abbc'], ['ab']],
  ['a.c', ['a.c'], ['abc']],
  ['(x|y)+[z]$^{1}\\', ['(x|y)+[z]$^{1}\\'], ['x']],
]

for (const [pattern, matches, misses] of table) {
  test(`the pattern ${pattern} matches the whole name and nothing else is special in it`, () => {
    const isMatch = compileGlob(pattern)
    for (const name of matches) assert.equal(isMatch(name), true, `${pattern} should match ${JSON.stringify(name)}`)
    for (const name of misses) assert.equal(isMatch(name), false, `${pattern} should miss ${JSON.stringify(name)}`)
  })
}

test('several patterns match what any of them matches, and none matches nothing', () => {
  assert.deepEqual(['a', 'b', 'c'].map(compileGlobs(['a', 'c*'])), [true, false, true])
  assert.equal(compileGlobs([])('a'), false)
})

test('only * and ? make a text a pattern', () => {
  assert.deepEqual(['a*', 'a?', 'a.b', '[a]', ''].map(isPattern), [true, true, false, false, false])
})

test('a pattern of many stars is decided at once, also for the longest name', { timeout: 2000 }, () => {
  const isMatch = compileGlob(`${'*a'.repeat(20)}*b`)
  assert.equal(isMatch('a'.repeat(249)), false)
  assert.equal(isMatch(`${'a'.repeat(248)}b`), true)
})
