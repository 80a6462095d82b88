import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SizeTable } from '../../src/archive/size-table.ts'

test('many sizes are found by their keys, and keys that were not added are not', () => {
  const table = new SizeTable()
  const keyOf = (i: number) => `b/kafka/topic-${i % 97}/${i % 7}/${String(i).padStart(20, '0')}.0a0b0c0d.log`
  for (let i = 0; i < 200_000; i++) table.add(keyOf(i), i)
  for (let i = 0; i < 200_000; i++) assert.equal(table.get(keyOf(i)), i)
  for (let i = 200_000; i < 300_000; i++) assert.equal(table.get(keyOf(i)), undefined)
})

test('a key that was added twice has a size that is not known', () => {
  const table = new SizeTable()
  table.add('a', 1)
  table.add('b', 2)
  table.add('a', 3)
  assert.deepEqual([table.get('a'), table.get('b'), table.get('c')], [Number.NaN, 2, undefined])
})
