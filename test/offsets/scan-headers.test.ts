import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { scanHeaders } from '../../src/offsets/scan-headers.ts'
import { type FakeRecord, fakeOffsets, restoredLog } from './fake-offsets.ts'

const never = new AbortController().signal
const MIXED = /^records of several partitions of the source are mixed here \(orders\/0, orders\/1\)/
const place = { topic: 'copy', partition: 0 }

/** Records at these offsets of the target; a number is the offset of `orders/0` that it was restored from, null is of others. */
function logOf(records: readonly (readonly [at: number, origin: number | null])[], partition = 0): FakeRecord[] {
  return records.flatMap(([at, origin]) => {
    const [one] = restoredLog([['orders', partition, origin ?? 0]])
    return one ? [{ ...one, offset: BigInt(at), headers: origin === null ? [] : one.headers }] : []
  })
}

const sequence = (count: number, origin: (i: number) => number | null, at: (i: number) => number = i => i) =>
  logOf(Array.from({ length: count }, (_, i) => [at(i), origin(i)] as const))

async function scan(log: readonly FakeRecord[], positions: Record<string, Record<string, number>>, hidden = 0) {
  const fake = fakeOffsets({ copy: [[...log]] })
  let records = 0
  fake.readRecords = async function* (_, { from, to }) {
    for (let i = lowerBound(log, from); i < log.length && (log[i]?.offset ?? to) < to; i += 50) {
      const some = log.slice(i, i + 50).filter(({ offset }) => offset < to)
      records += some.length
      yield some
    }
  }
  const [bounds] = (await fake.readBounds([place], never)).values()
  assert.ok(bounds)
  const wanted = Object.entries(positions).map(
    ([group, own]) =>
      [group, new Map(Object.entries(own).map(([key, offset]) => [key, BigInt(offset)] as const))] as const,
  )
  const given = { ...bounds, highWatermark: bounds.highWatermark + BigInt(hidden) }
  const { found, isBare, isHidden } = await scanHeaders(place, new Map(wanted), { port: fake, bounds: given }, never)
  const one = found.get('g')
  return {
    found,
    isBare,
    isHidden,
    records,
    to: typeof one === 'bigint' ? Number(one) : one,
    problem: typeof one === 'object' ? one.problem : '',
  }
}

function lowerBound(log: readonly FakeRecord[], offset: bigint): number {
  let [low, high] = [0, log.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((log[middle]?.offset ?? offset) < offset) low = middle + 1
    else high = middle
  }
  return low
}

/** By its definition: the first record of the restore that is not read, or the place behind the last one. */
function byDefinition(log: readonly FakeRecord[], position: number): number {
  const origins = log.flatMap(({ offset, headers }) => {
    const value = headers.find(([name]) => name === 'x-original-offset')?.[1]
    return value ? [{ at: Number(offset), origin: Number(Buffer.from(value).toString()) }] : []
  })
  return origins.find(({ origin }) => origin >= position)?.at ?? (origins.at(-1)?.at ?? 0) + 1
}

const layouts: [what: string, log: FakeRecord[], highest: number][] = [
  ['without holes', sequence(900, i => i), 900],
  ['with holes at the source, of markers', sequence(700, i => i + Math.floor(i / 7)), 800],
  ['with holes at the source, of compaction', sequence(300, i => i * i), 90_000],
  [
    'with holes on the target, of compaction',
    sequence(
      300,
      i => 3 * i,
      i => 5 * i + Math.floor(i / 50) * 1000,
    ),
    900,
  ],
  ['with records of others in between', sequence(900, i => (i % 3 === 1 ? null : i)), 900],
  ['with many records of others at one place', sequence(1500, i => (i > 200 && i < 1200 ? null : i)), 1500],
  ['with records of others at both ends', sequence(900, i => (i < 150 || i >= 700 ? null : i - 150)), 560],
  [
    'that begins at a later offset',
    sequence(
      400,
      i => 5000 + 2 * i,
      i => 77 + i,
    ),
    5800,
  ],
]

describe('the next unread record is found by headers', () => {
  for (const [what, log, highest] of layouts) {
    test(what, async () => {
      const step = Math.max(1, Math.floor(highest / 40))
      for (let position = 0; position <= highest + 2; position += step) {
        assert.equal((await scan(log, { g: { 'orders/0': position } })).to, byDefinition(log, position), `${position}`)
      }
    })
  }

  test('for many groups at once', async () => {
    const log = sequence(2000, i => i * 2 + Math.floor(i / 5))
    const positions = Array.from({ length: 40 }, (_, i) => [`g${i}`, { 'orders/0': 101 * i }] as const)
    const { found } = await scan(log, Object.fromEntries(positions))
    for (const [group, { 'orders/0': offset }] of positions) {
      assert.equal(Number(found.get(group)), byDefinition(log, offset), group)
    }
  })
})

test('few records are read, however many there are', async () => {
  const log = sequence(30_000, i => i + Math.floor(i / 7))
  for (const position of [1, 15_000, 34_000, 99_999]) {
    const { records, to } = await scan(log, { g: { 'orders/0': position } })
    assert.equal(to, byDefinition(log, position))
    assert.ok(records < 5000, `${records} records for ${position}`)
  }
})

test('a place that more than 100,000 records of others hide is a problem instead of a guess', async () => {
  const others = (count: number) => count + 100_001
  const before = await scan(
    sequence(others(60), i => (i < 100_051 ? null : i)),
    { g: { 'orders/0': 3 } },
  )
  assert.match(before.problem, /^the first 100,000 records here have no x-original-\* headers/)
  const behind = await scan(
    sequence(others(10), i => (i < 10 ? i : null)),
    { g: { 'orders/0': 3 } },
  )
  assert.match(behind.problem, /^the last 100,000 records here have no x-original-\* headers/)
  const between = sequence(120_000, i => (i < 500 || i > 110_000 ? i : null))
  const hidden = await scan(between, { g: { 'orders/0': 50_000 } })
  assert.match(hidden.problem, /^the next unread record was not found: .* more than 100,000 records/)
  assert.equal((await scan(between, { g: { 'orders/0': 300 } })).to, 300, 'the others are found')
})

test('records of several partitions of the source are a problem of all groups, also of those that read one of them', async () => {
  const leg = (partition: number, from: number) =>
    logOf(
      Array.from({ length: 300 }, (_, i) => [from + i, i] as const),
      partition,
    )
  const mixed = [...leg(0, 0), ...leg(1, 300)]
  const others = logOf(Array.from({ length: 50 }, (_, i) => [600 + i, null] as const))
  for (const log of [mixed, [...mixed, ...others]]) {
    for (const own of [{ 'orders/0': 5, 'orders/1': 5 }, { 'orders/0': 300, 'orders/1': 300 }, { 'orders/1': 5 }]) {
      assert.match((await scan(log, { g: own })).problem, MIXED)
    }
  }
  const three = [...leg(0, 0), ...leg(2, 300), ...leg(1, 600)]
  assert.match((await scan(three, { g: { 'orders/2': 5 } })).problem, MIXED)
})

test('records that are not in the order of the source are a problem', async () => {
  const again = sequence(1001, i => (i < 1000 ? i : 10))
  assert.match(
    (await scan(again, { g: { 'orders/0': 500 } })).problem,
    /^the records with headers are not in the order/,
  )
})

test('where all visible records are read, those behind an open transaction are a problem', async () => {
  const log = sequence(10, i => i)
  assert.equal((await scan(log, { g: { 'orders/0': 7 } }, 5)).to, 7)
  assert.match((await scan(log, { g: { 'orders/0': 10 } }, 5)).problem, /an open transaction hides those after it/)
  assert.equal((await scan(log, { g: { 'orders/0': 10 } })).to, 10)
})

test('a partition whose records are all behind an open transaction is a problem instead of a reset to its beginning', async () => {
  const empty = sequence(0, i => i)
  assert.equal((await scan(empty, { g: { 'orders/0': 7 } })).to, 0)
  assert.match((await scan(empty, { g: { 'orders/0': 7 } }, 5)).problem, /^an open transaction hides all records/)
})

test('records without headers before an open transaction do not show that the restore gave none', async () => {
  const others = sequence(5, () => null)
  const hidden = await scan(others, { g: { 'orders/0': 7 } }, 5)
  assert.match(hidden.problem, /^no visible record of copy\/0 .*, and an open transaction hides those after them. Wait/)
  assert.deepEqual([hidden.isBare, hidden.isHidden], [undefined, true])
  const shown = await scan(others, { g: { 'orders/0': 7 } })
  assert.match(shown.problem, /^no record of copy\/0 shows .*Use from_mapping instead$/)
  assert.deepEqual([shown.isBare, shown.isHidden], [true, undefined])
})
