import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chooseThread } from '../../src/restore/patch-threads.ts'
import { ThreadPace } from '../../src/restore/thread-pace.ts'

const MIB = 1 << 20

describe('the pace of a thread', () => {
  const CHUNK = 8 * MIB
  /** At so many MB for each second. */
  const msAt = (rate: number) => (CHUNK / (rate * 1e6)) * 1000

  test('is not judged by what it does before its code is compiled', () => {
    const pace = new ThreadPace()
    assert.equal(pace.isTooSlow, false)
    for (let i = 0; i < 8; i++) pace.note(MIB, 5000)
    assert.equal(pace.isTooSlow, false)
    for (let i = 0; i < 7; i++) pace.note(MIB, 5000)
    assert.equal(pace.isTooSlow, false)
    pace.note(MIB, 5000)
    assert.equal(pace.isTooSlow, true)
  })

  test('is enough at 40 MB for each second of CPU time, by what it did last', () => {
    const pace = new ThreadPace()
    pace.note(CHUNK, 1)
    for (const [rate, isTooSlow] of [
      [39, true],
      [41, false],
      [30, true],
      [200, false],
    ] as const) {
      pace.note(CHUNK, msAt(rate))
      assert.equal(pace.isTooSlow, isTooSlow, `${rate} MB/s`)
    }
  })
})

describe('the thread for a task', () => {
  const thread = (load: number, isTooSlow: boolean) => ({ load, isTooSlow })

  test('is the one with the fewest, and another one while there are fewer than cores but one', () => {
    assert.equal(chooseThread([], 1), undefined)
    const [idle, busy] = [thread(0, true), thread(2, false)]
    assert.equal(chooseThread([busy, idle], 4), idle)
    assert.equal(chooseThread([busy, thread(3, false)], 4), undefined)
    assert.equal(chooseThread([thread(3, false), busy, thread(4, false)], 4), busy)
    assert.equal(chooseThread([busy], 2), busy)
    assert.equal(chooseThread([busy], 1), busy)
  })

  test('is another one while there are fewer than cores, where they are slow', () => {
    const slow = thread(2, true)
    assert.equal(chooseThread([slow], 2), undefined)
    assert.equal(chooseThread([slow, thread(3, true)], 2), slow)
    assert.equal(chooseThread([slow], 1), slow)
  })
})
