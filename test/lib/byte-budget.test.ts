import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ByteBudget } from '../../src/lib/byte-budget.ts'

const never = new AbortController().signal

async function state(promise: Promise<unknown>): Promise<string> {
  const settled = promise.then(
    () => 'held',
    () => 'rejected',
  )
  await setImmediate()
  return Promise.race([settled, setImmediate('waits')])
}

test('takes wait for what is free, in order', async () => {
  const budget = new ByteBudget(10)
  const giveBack = await budget.take(8, never)
  const large = budget.take(5, never)
  const small = budget.take(1, never)
  assert.deepEqual([await state(large), await state(small)], ['waits', 'waits'])
  giveBack()
  giveBack()
  assert.deepEqual([await state(large), await state(small)], ['held', 'held'])
  assert.equal(await state(budget.take(5, never)), 'waits')
})

test('more than the whole is given when nothing else is held', async () => {
  const budget = new ByteBudget(10)
  const giveBack = await budget.take(1, never)
  const huge = budget.take(11, never)
  assert.equal(await state(huge), 'waits')
  giveBack()
  assert.equal(await state(huge), 'held')
})

test('small amounts pass at once', async () => {
  const budget = new ByteBudget(10, 2)
  await budget.take(10, never)
  assert.equal(await state(budget.take(2, never)), 'held')
})

test('an aborted take leaves the line and lets the next one in', async () => {
  const budget = new ByteBudget(10)
  await budget.take(6, never)
  const abort = new AbortController()
  const first = budget.take(9, abort.signal)
  const second = budget.take(4, never)
  assert.equal(await state(second), 'waits')
  const ended = state(first)
  abort.abort()
  assert.deepEqual([await ended, await state(second)], ['rejected', 'held'])
})
