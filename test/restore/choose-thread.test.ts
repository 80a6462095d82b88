import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chooseThread } from '../../src/restore/patch-threads.ts'

describe('the thread for a task', () => {
  const thread = (load: number, packs: boolean) => ({ load, packs })

  test('is the one with the fewest, and another one while there are fewer than cores but one', () => {
    assert.equal(chooseThread([], 1), undefined)
    const [idle, busy] = [thread(0, true), thread(2, false)]
    assert.equal(chooseThread([busy, idle], 4), idle)
    assert.equal(chooseThread([busy, thread(3, false)], 4), undefined)
    assert.equal(chooseThread([thread(3, false), busy, thread(4, false)], 4), busy)
    assert.equal(chooseThread([busy], 2), busy)
    assert.equal(chooseThread([busy], 1), busy)
  })

  test('is another one while there are fewer than cores, where batches are compressed again', () => {
    const packing = thread(2, true)
    assert.equal(chooseThread([packing], 2), undefined)
    assert.equal(chooseThread([packing, thread(3, true)], 2), packing)
    assert.equal(chooseThread([packing], 1), packing)
  })
})
