import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Segment } from '../../src/archive/manifest.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import { countRecords, expectStream } from '../../src/restore/expected.ts'

const source = {
  ...emptyPartition(0, 0n),
  start_offset: 100n,
  end_offset: 300n,
  records: 150,
  aborted_records: 50,
  bytes: 4000,
  first_timestamp: 1000n,
  last_timestamp: 2000n,
}
const stream = { source, partition: 0, start: 100n, end: 300n }

describe('what the manifest says of a partition', () => {
  test('is exact for a whole one, without what was rolled back', () => {
    assert.deepEqual(expectStream(stream, 100n, {}), { records: 100, bytes: 4000, isEstimate: false })
  })

  test('is a share of it for a range, and for what a resume has left', () => {
    const half = { records: 50, bytes: 2000, isEstimate: true }
    assert.deepEqual(expectStream({ ...stream, end: 200n }, 100n, {}), half)
    assert.deepEqual(expectStream(stream, 200n, {}), half)
  })

  test('is nothing where nothing is left, of an empty one, and of one older than the window', () => {
    const nothing = { records: 0, bytes: 0, isEstimate: false }
    assert.deepEqual(expectStream(stream, 300n, {}), nothing)
    const empty = { ...stream, source: emptyPartition(0, 7n), start: 7n, end: 7n }
    assert.deepEqual(expectStream(empty, 7n, {}), nothing)
    assert.deepEqual(expectStream(stream, 100n, { start: 2001n }), nothing)
  })

  test('is the most that there can be in a window', () => {
    assert.deepEqual(expectStream(stream, 100n, { start: 2000n }), { records: 100, bytes: 4000, isEstimate: true })
    assert.deepEqual(expectStream(stream, 100n, { end: 500n }), { records: 100, bytes: 4000, isEstimate: true })
  })
})

test('segments are counted without what was rolled back, lies outside of the range or is older than the window', () => {
  const segment = (start: bigint, last: bigint, aborted: number) =>
    ({
      start_offset: start,
      end_offset: start + 100n,
      records: 100,
      aborted_records: aborted,
      last_timestamp: last,
    }) as Segment
  const segments = [segment(0n, 10n, 0), segment(100n, 20n, 30), segment(200n, 30n, 0)]
  const whole = { start: 0n, end: 300n }
  assert.equal(countRecords(segments, whole, {}), 270)
  assert.equal(countRecords(segments, { start: 50n, end: 200n }, {}), 120)
  assert.equal(countRecords(segments, { start: 250n, end: 300n }, {}), 50)
  assert.equal(countRecords(segments, whole, { start: 15n }), 170)
  assert.equal(countRecords(segments, { start: 300n, end: 300n }, {}), 0)
})
