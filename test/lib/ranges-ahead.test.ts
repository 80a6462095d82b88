import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type ObjectRange, RangesAhead, RequestLimit } from '../../src/lib/ranges-ahead.ts'

const { signal } = new AbortController()
const some = (count: number, length: number): ObjectRange[] =>
  Array.from({ length: count }, (_, i) => ({ key: 'k', start: i * length, length }))

/** A store that answers when the test says so. */
function openStore() {
  const waiting: { start: number; answer: () => void; fail: (error: Error) => void; signal: AbortSignal }[] = []
  const readRange = (_: string, start: number, length: number, own: AbortSignal) => {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    waiting.push({ start, answer: () => resolve(Buffer.alloc(length, start)), fail: reject, signal: own })
    own.addEventListener('abort', () => reject(own.reason))
    return promise
  }
  return { readRange, waiting }
}

describe('ranges that are announced', () => {
  test('are requested before they are asked for, up to a number of bytes', async () => {
    const store = openStore()
    const ahead = new RangesAhead(store, some(10, 4), { maxBytes: 8 }, signal)
    assert.equal(store.waiting.length, 0, 'nothing before the first is asked for')
    const first = ahead.readRange('k', 0, 4, signal)
    assert.deepEqual(
      store.waiting.map(({ start }) => start),
      [0, 4, 8],
    )
    for (const { answer } of store.waiting) answer()
    assert.deepEqual(await first, Buffer.alloc(4, 0))
    assert.equal(store.waiting.length, 3, 'what has arrived and was not asked for takes memory, too')
    assert.deepEqual(await ahead.readRange('k', 4, 4, signal), Buffer.alloc(4, 4))
    assert.equal(store.waiting.length, 4)
    await ahead.close()
  })

  test('are limited by their number where they are small', async () => {
    const store = openStore()
    const ahead = new RangesAhead(store, some(100, 1), { maxBytes: 1 << 20 }, signal)
    void ahead.readRange('k', 0, 1, signal)
    assert.equal(store.waiting.length, 17)
    store.waiting[0]?.answer()
    await ahead.close()
  })

  test('of several readers share a limit, and each still reads what is asked for', async () => {
    const store = openStore()
    const limit = new RequestLimit(3)
    const [one, other] = [1, 2].map(() => new RangesAhead(store, some(10, 4), { maxBytes: 8, limit }, signal))
    const first = one?.readRange('k', 0, 4, signal)
    void other?.readRange('k', 0, 4, signal)
    assert.equal(store.waiting.length, 5, 'two that are asked for, and three before they are')
    for (const { answer } of store.waiting) answer()
    await first
    void other?.readRange('k', 4, 4, signal)
    assert.equal(store.waiting.length, 7, 'what has arrived no longer counts')
    for (const { answer } of store.waiting) answer()
    await one?.close()
    await other?.close()
  })

  test('are read when they are asked for where no memory is left for more, or the order is another one', async () => {
    const store = openStore()
    const none = new RangesAhead(store, some(3, 4), { maxBytes: 0 }, signal)
    void none.readRange('k', 0, 4, signal)
    void none.readRange('k', 4, 4, signal)
    assert.equal(store.waiting.length, 2)
    const other = new RangesAhead(store, some(3, 4), { maxBytes: 100 }, signal)
    void other.readRange('elsewhere', 0, 4, signal)
    assert.deepEqual(
      store.waiting.slice(2).map(({ start }) => start),
      [0, 0, 4, 8],
    )
    for (const { answer } of store.waiting) answer()
    await other.close()
  })

  test('fail when they are asked for, and not before', async () => {
    const store = openStore()
    const ahead = new RangesAhead(store, some(3, 4), { maxBytes: 100 }, signal)
    const first = ahead.readRange('k', 0, 4, signal)
    store.waiting[1]?.fail(new Error('gone'))
    await turn()
    store.waiting[0]?.answer()
    await first
    await assert.rejects(ahead.readRange('k', 4, 4, signal), /gone/)
    await ahead.close()
  })

  test('are not read to their end when no one asks any more', async () => {
    const store = openStore()
    const ahead = new RangesAhead(store, some(3, 4), { maxBytes: 100 }, signal)
    void ahead.readRange('k', 0, 4, signal)
    store.waiting[0]?.answer()
    await ahead.close()
    assert.deepEqual(
      store.waiting.map(one => one.signal.aborted),
      [false, true, true],
    )
  })
})
