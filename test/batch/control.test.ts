import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeMarker } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { encodeBatch, encodeMarker } from '../fakes/batches.ts'

function markerOf(batch: Buffer) {
  const [header] = walkBatches(batch, 0, batch.length)
  assert.ok(header)
  return decodeMarker(batch, header)
}

test('a marker aborts or commits; other messages of the broker do neither', () => {
  assert.equal(markerOf(encodeMarker(1n, 5n, 'abort')), 'abort')
  assert.equal(markerOf(encodeMarker(1n, 5n, 'commit')), 'commit')
  for (const type of [2, 3, 5, -1]) assert.equal(markerOf(encodeMarker(1n, 5n, type)), 'other')
})

test('a marker that compaction has emptied says nothing', () => {
  assert.equal(markerOf(encodeBatch({ control: true, records: [], lastOffsetDelta: 0 })), 'other')
})

test('a control batch without a type is refused', () => {
  for (const key of [null, Buffer.alloc(0), Buffer.alloc(3)]) {
    const batch = encodeBatch({ baseOffset: 9n, control: true, records: [{ key }] })
    assert.throws(() => markerOf(batch), { code: 'BATCH_INVALID', message: /offset 9/ })
  }
})
