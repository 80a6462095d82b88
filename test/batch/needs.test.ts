import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { BatchHeader } from '../../src/batch/header.ts'
import { type BatchLimits, isDense, needsRebuild, placeInWindow, type TimeWindow } from '../../src/batch/needs.ts'
import { decodeRecords } from '../../src/batch/records.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { type BatchSpec, encodeBatch } from '../fakes/batches.ts'
import { createRandom } from '../fakes/faulty-storage.ts'

const maxBytes = 1000
const three = [{}, {}, {}]

describe('a batch', () => {
  const cases: [what: string, spec: BatchSpec, limits: Partial<BatchLimits>, expected: string | undefined][] = [
    ['is sent as it is', { records: three }, {}, undefined],
    ['with a hole in it is rebuilt', { records: [{}, { offsetDelta: 2 }] }, {}, 'holes'],
    ['that lost its last records is rebuilt', { records: three, lastOffsetDelta: 3 }, {}, 'holes'],
    ['that compaction emptied vanishes', { records: [], lastOffsetDelta: 3 }, {}, 'empty'],
    ['with the time of the broker is rebuilt', { records: three, logAppendTime: true }, {}, 'log-append-time'],
    ['larger than the target takes is rebuilt', { records: [{ value: Buffer.alloc(1000) }] }, {}, 'oversize'],
    ['that begins before the first offset is cut', { baseOffset: 10n, records: three }, { fromOffset: 12n }, 'cut'],
    ['from the first offset on is whole', { baseOffset: 10n, records: three }, { fromOffset: 10n }, undefined],
    ['before the first offset vanishes', { baseOffset: 10n, records: three }, { fromOffset: 13n }, 'outside'],
    ['before the window vanishes', { baseTimestamp: 5n, records: three }, { timeWindow: { start: 6n } }, 'outside'],
    ['at the start of a window is opened', { baseTimestamp: 5n, records: three }, { timeWindow: { start: 5n } }, 'cut'],
    [
      'known to begin at the start is whole',
      { baseTimestamp: 5n, records: three },
      { timeWindow: { start: 5n }, knownMin: 5n },
      undefined,
    ],
    [
      'outside the window by time and cut by offset vanishes',
      { baseOffset: 10n, baseTimestamp: 5n, records: three },
      { fromOffset: 11n, timeWindow: { start: 6n } },
      'outside',
    ],
  ]
  for (const [what, spec, limits, expected] of cases) {
    test(what, () => assert.equal(needsRebuild(headerOf(spec), { maxBytes, ...limits }), expected))
  }

  test('of exactly the largest size is sent as it is', () => {
    const header = headerOf({ records: three })
    assert.equal(needsRebuild(header, { maxBytes: header.sizeBytes }), undefined)
    assert.equal(needsRebuild(header, { maxBytes: header.sizeBytes - 1 }), 'oversize')
  })

  test('is dense by its record count, up to the last offset there is', () => {
    assert.equal(isDense(headerOf({ baseOffset: 2n ** 63n - 3n, records: three })), true)
    assert.equal(isDense(headerOf({ baseOffset: 2n ** 62n, records: three, lastOffsetDelta: 2_147_483_647 })), false)
  })
})

describe('what a header says about a window', () => {
  const place = (window: TimeWindow, spec: BatchSpec, knownMin?: bigint) =>
    placeInWindow(headerOf(spec), window, knownMin)
  // Times 100, 50 and 150: the first is neither the least nor the greatest.
  const spec = {
    baseTimestamp: 100n,
    records: [{}, { timestampDelta: -50n }, { timestampDelta: 50n }],
  }

  test('with an end alone, the greatest time decides inside, and nothing decides outside', () => {
    assert.equal(place({ end: 151n }, spec), 'inside')
    assert.equal(place({ end: 150n }, spec), 'open')
    assert.equal(place({ end: 1n }, spec), 'open')
    assert.equal(place({ end: 50n }, spec, 50n), 'outside')
    assert.equal(place({ end: 51n }, spec, 50n), 'open')
  })

  test('with a start, only a known least time decides inside', () => {
    assert.equal(place({ start: 151n }, spec), 'outside')
    assert.equal(place({ start: 60n }, spec), 'open', 'the first record is inside, another is not')
    assert.equal(place({ start: 0n }, spec), 'open')
    assert.equal(place({ start: 50n }, spec, 50n), 'inside')
    assert.equal(place({ start: 50n, end: 150n }, spec, 50n), 'open')
  })

  test('without bounds everything is inside', () => assert.equal(place({}, spec), 'inside'))

  test('one record, or the time of the broker, is known exactly', () => {
    for (const exact of [
      { baseTimestamp: 100n, records: [{}] },
      { ...spec, logAppendTime: true, maxTimestamp: 100n },
    ]) {
      assert.equal(place({ start: 100n, end: 101n }, exact), 'inside')
      assert.equal(place({ start: 101n }, exact), 'outside')
      assert.equal(place({ end: 100n }, exact), 'outside')
    }
  })

  test('never contradicts the records', () => {
    const random = createRandom(7)
    const pick = (below: number) => BigInt(Math.floor(random() * below))
    const seen = { inside: 0, outside: 0, open: 0 }
    for (let i = 0; i < 3000; i++) {
      const records = Array.from({ length: 1 + Number(pick(4)) }, (_, j) => ({ timestampDelta: j ? pick(9) - 4n : 0n }))
      const batch = encodeBatch({ baseTimestamp: pick(10), records, logAppendTime: random() < 0.2 })
      const [header] = walkBatches(batch, 0, batch.length)
      assert.ok(header)
      const times = decodeRecords(batch, header).map(record => record.timestamp)
      const window = { ...(random() < 0.6 && { start: pick(14) }), ...(random() < 0.6 && { end: pick(14) }) }
      const known = random() < 0.5 ? (times.toSorted((a, b) => Number(a - b))[0] ?? 0n) - pick(2) : undefined
      const told = placeInWindow(header, window, known)
      const within = times.filter(time => time >= (window.start ?? time) && time < (window.end ?? time + 1n)).length
      if (told === 'inside') assert.equal(within, times.length)
      if (told === 'outside') assert.equal(within, 0)
      seen[told]++
    }
    assert.ok(Math.min(seen.inside, seen.outside, seen.open) > 200, JSON.stringify(seen))
  })
})

function headerOf(spec: BatchSpec): BatchHeader {
  const batch = encodeBatch(spec)
  const [header] = walkBatches(batch, 0, batch.length)
  assert.ok(header)
  return header
}
