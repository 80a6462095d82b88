import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AbortTracker, abortedFrom, walkAnswer } from '../../src/backup/chunk.ts'
import { encodeMarker, encodeRun } from '../fakes/batches.ts'

test('a transaction is aborted from its first offset to its marker', () => {
  const tracker = new AbortTracker([{ producerId: 7n, firstOffset: 10n }])
  tracker.advance(9n)
  assert.equal(tracker.isAborted(7n), false)
  tracker.advance(12n)
  assert.equal(tracker.isAborted(7n), true)
  assert.equal(tracker.isAborted(8n), false)
  assert.deepEqual(tracker.close(7n, 15n), { producer_id: 7n, first_offset: 10n, last_offset: 15n })
  assert.equal(tracker.isAborted(7n), false)
  assert.equal(tracker.close(7n, 16n), undefined)
  assert.deepEqual(tracker.open, [])
})

test('transactions of several producers overlap, in whatever order they are listed', () => {
  const tracker = new AbortTracker([
    { producerId: 3n, firstOffset: 30n },
    { producerId: 1n, firstOffset: 10n },
    { producerId: 2n, firstOffset: 20n },
  ])
  tracker.advance(20n)
  assert.deepEqual(
    [1n, 2n, 3n].map(id => tracker.isAborted(id)),
    [true, true, false],
  )
  tracker.close(1n, 25n)
  tracker.advance(30n)
  assert.deepEqual(
    [1n, 2n, 3n].map(id => tracker.isAborted(id)),
    [false, true, true],
  )
  assert.deepEqual(tracker.open, [
    { producer_id: 2n, first_offset: 20n, last_offset: null },
    { producer_id: 3n, first_offset: 30n, last_offset: null },
  ])
})

test('two transactions of one producer are told apart by the marker between them', () => {
  const tracker = new AbortTracker([
    { producerId: 1n, firstOffset: 10n },
    { producerId: 1n, firstOffset: 20n },
  ])
  tracker.advance(10n)
  tracker.advance(15n)
  assert.equal(tracker.close(1n, 15n)?.first_offset, 10n)
  tracker.advance(17n)
  assert.equal(tracker.isAborted(1n), false, 'what lies between them is not rolled back')
  tracker.advance(20n)
  assert.equal(tracker.close(1n, 25n)?.first_offset, 20n)
})

test('a transaction that began before the answer is open from its first batch on', () => {
  const tracker = new AbortTracker([{ producerId: 1n, firstOffset: 10n }])
  tracker.advance(500n)
  assert.deepEqual(tracker.open, [{ producer_id: 1n, first_offset: 10n, last_offset: null }])
})

test('an answer that begins with the marker of a transaction lists it for the last time', () => {
  const listed = [
    { producerId: 7n, firstOffset: 3n },
    { producerId: 7n, firstOffset: 11n },
    { producerId: 8n, firstOffset: 4n },
  ]
  const behind = (before: Buffer) => {
    const bytes = Buffer.concat([before, encodeRun(11n, 5)])
    return abortedFrom(walkAnswer(bytes, { start: 0, end: bytes.length }, 'a/0'), 11n, listed)
  }
  assert.deepEqual(behind(encodeMarker(10n, 7n, 'abort')), listed.slice(1))
  assert.deepEqual(behind(encodeMarker(10n, 9n, 'abort')), listed)
  assert.deepEqual(behind(encodeRun(5n, 6, { producerId: 7n })), listed)
})
