import assert from 'node:assert/strict'
import { test } from 'node:test'
import { numberedName } from '../../src/lib/numbered-name.ts'

test('names partitions, also those with numbers that no broker should have', () => {
  const numbers = [0, 1, 9_999, 10_000, 2 ** 31, -1]
  for (const number of numbers) {
    assert.equal(numberedName('orders', number), `orders/${number}`)
    assert.equal(numberedName('orders', number), `orders/${number}`)
  }
})

test('keeps the names right when it begins again after very many', () => {
  for (let topic = 0; topic < 30; topic++) {
    for (let number = 0; number < 9_000; number++) numberedName(`topic-${topic}`, number)
  }
  for (let topic = 0; topic < 30; topic++) assert.equal(numberedName(`topic-${topic}`, 7), `topic-${topic}/7`)
})
