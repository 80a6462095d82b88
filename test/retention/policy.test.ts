import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import { policyOf } from '../../src/jobs/prune.ts'

const DAY = 86_400_000

test('rules that a program gives are taken as they are; what is undefined is as if it were not given', () => {
  const given: object = { keepLast: 0, olderThanMs: 1.5, match: ['a-*'], keepDaily: undefined, graceMs: undefined }
  const plain = { keepLast: 0, olderThanMs: 1.5, match: ['a-*'], graceMs: DAY }
  assert.deepEqual(policyOf(undefined, given), plain)
})

test('rules for generations are taken as they are, and refused by name', () => {
  const generations = { keepLast: 2, keepDaily: 7 }
  assert.deepEqual(policyOf(undefined, { generations }).generations, generations)
  for (const [wrong, field] of [
    [{ keepLast: -1 }, 'generations.keepLast'],
    [{ keep_last: 1 }, 'generations.keep_last'],
    [{ keepDaily: '7' }, 'generations.keepDaily'],
    [7, 'generations'],
    [[1], 'generations'],
    [null, 'generations'],
  ] as const) {
    assert.throws(
      () => policyOf(undefined, { generations: wrong as never }),
      error => hasCode(error, 'USAGE') && error.message.startsWith(`the rule ${field} of a prune cannot be`),
    )
  }
})

test('rules that are none are refused by name, since nothing would be kept by them', () => {
  for (const [field, value] of [
    ['olderThanMs', Number.NaN],
    ['olderThanMs', '30d'],
    ['graceMs', -1],
    ['keepLast', Number.NaN],
    ['keepLast', -1],
    ['keepDaily', 1.5],
    ['keepYearly', '7'],
    ['match', 'orders'],
    ['keep_last', 7],
  ] as const) {
    assert.throws(
      () => policyOf(undefined, { [field]: value }),
      error => hasCode(error, 'USAGE') && error.message.includes(field),
      `${field}: ${value}`,
    )
  }
})
