import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Segment } from '../../src/archive/manifest.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import { countRecords, countStream, expectStream } from '../../src/restore/expected.ts'
import type { PlannedLeg } from '../../src/restore/plan.ts'

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
const topic = { name: 'orders', id: 'id-orders' }
const streamOf = (leg: Partial<PlannedLeg> = {}) => ({
  partition: 0,
  legs: [{ topic, source, start: 100n, end: 300n, ...leg }],
})
const stream = streamOf()
const at = (sourceOffset: bigint, sourcePartition = 0) => ({ sourcePartition, sourceOffset })

describe('what the manifest says of a partition', () => {
  test('is exact for a whole one, without what was rolled back', () => {
    assert.deepEqual(expectStream(stream, at(100n), {}), { records: 100, bytes: 4000, isEstimate: false, isMost: true })
  })

  test('is a share of it for a range, and for what a resume has left', () => {
    const half = { records: 50, bytes: 2000, isEstimate: true, isMost: false }
    assert.deepEqual(expectStream(streamOf({ end: 200n }), at(100n), {}), half)
    assert.deepEqual(expectStream(stream, at(200n), {}), half)
  })

  test('is nothing where nothing is left, of an empty one, and of one older than the window', () => {
    const nothing = { records: 0, bytes: 0, isEstimate: false, isMost: true }
    assert.deepEqual(expectStream(stream, at(300n), {}), nothing)
    const empty = streamOf({ source: emptyPartition(0, 7n), start: 7n, end: 7n })
    assert.deepEqual(expectStream(empty, at(7n), {}), nothing)
    assert.deepEqual(expectStream(stream, at(100n), { start: 2001n }), nothing)
  })

  test('is the most that there can be in a window', () => {
    const most = { records: 100, bytes: 4000, isEstimate: true, isMost: true }
    assert.deepEqual(expectStream(stream, at(100n), { start: 2000n }), most)
    assert.deepEqual(expectStream(stream, at(100n), { end: 500n }), most)
    assert.equal(expectStream(streamOf({ end: 200n }), at(100n), { end: 500n }).isMost, false)
  })
})

describe('where keys decide, what the manifest says of all partitions together', () => {
  const other = { ...source, partition: 1, records: 57 }
  const legs = [source, other].map(one => ({ topic, source: one, start: 100n, end: 300n }))
  const keyed = [0, 1, 2].map(partition => ({ partition, legs, keyedAmong: 3 }))

  test('is shared out among them, to the last record', () => {
    const expected = keyed.map(one => expectStream(one, at(100n), {}))
    assert.deepEqual(
      expected.map(({ records }) => records),
      [36, 36, 35],
      'the sum is 100 and 7',
    )
    assert.deepEqual(
      expected.map(({ isEstimate }) => isEstimate),
      [false, false, false],
    )
  })

  test('is an estimate once one of them has begun', () => {
    const [first = assert.fail()] = keyed
    assert.deepEqual(expectStream(first, at(200n), {}), { records: 19, bytes: 2000, isEstimate: true, isMost: false })
    assert.deepEqual(expectStream(first, at(100n, 1), {}), { records: 3, bytes: 1334, isEstimate: true, isMost: false })
    assert.deepEqual(expectStream(first, at(300n, 1), {}), { records: 0, bytes: 0, isEstimate: true, isMost: false })
  })

  test('is counted closer by the segments where the manifest does not say it exactly, each once for a leg', async () => {
    const segment = { start_offset: 100n, end_offset: 300n, records: 100, aborted_records: 0, last_timestamp: 5n }
    let reads = 0
    const segmentsOf = async () => {
      reads++
      return [segment as Segment]
    }
    const count = (from: { sourcePartition: number; sourceOffset: bigint }, window = {}) =>
      Promise.all(keyed.map(one => countStream(one, from, window, segmentsOf)))
    assert.deepEqual(await count(at(100n)), [36, 36, 35], 'as the manifest says')
    assert.equal(reads, 0)
    assert.deepEqual(await count(at(100n), { start: 0n }), [67, 67, 66])
    assert.deepEqual(await count(at(200n, 1)), [17, 17, 16])
    assert.equal(reads, 9)
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
