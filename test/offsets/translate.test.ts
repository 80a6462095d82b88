import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type MapRun, translate } from '../../src/offsets/place-groups.ts'

const run = (partition: number, source: number, target: number, count: number): MapRun => ({
  partition,
  sourceOffset: BigInt(source),
  targetOffset: BigInt(target),
  count: BigInt(count),
})

/** Offsets 10 to 12 are at 0 to 2, and 20 to 21 at 3 to 4: a log that begins at 10, with a hole. */
const holes = [run(0, 10, 0, 3), run(0, 20, 3, 2)]

async function* stream(runs: readonly MapRun[]) {
  yield* runs
}

async function place(runs: readonly MapRun[], positions: Record<number, bigint>, end: bigint) {
  const byPartition = new Map(Object.entries(positions).map(([partition, offset]) => [Number(partition), offset]))
  const isSingle = new Set(runs.map(({ partition }) => partition)).size < 2
  const found = await translate(stream(runs), { wanted: [{ group: 'g', byPartition }], end, isSingle })
  const one = found.get('g')
  return [one?.offset, one?.record?.offset, one?.rereads]
}

describe('a position is translated', () => {
  const cases: [what: string, position: bigint, target: bigint, record: bigint | undefined][] = [
    ['at zero, before the log begins, to its first record', 0n, 0n, 10n],
    ['at the first record to that record', 10n, 0n, 10n],
    ['at a record to that record', 12n, 2n, 12n],
    ['on the first offset of a hole to the record behind it', 13n, 3n, 20n],
    ['inside a hole, such as a dropped marker, to the record behind it', 16n, 3n, 20n],
    ['at the last record to that record', 21n, 4n, 21n],
    ['at the end to the end', 22n, 5n, undefined],
    ['beyond the end to the end', 99n, 5n, undefined],
  ]
  for (const [what, position, target, record] of cases) {
    test(what, async () => {
      assert.deepEqual(await place(holes, { 0: position }, 5n), [target, record, 0n])
    })
  }

  test('to the end where nothing was restored', async () => {
    assert.deepEqual(await place([], { 0: 7n }, 3n), [3n, undefined, 0n])
  })

  test('among records of others, which are no reason to skip or repeat one', async () => {
    const appended = [run(0, 0, 100, 2), run(0, 2, 150, 2)]
    assert.deepEqual(await place(appended, { 0: 1n }, 152n), [101n, 1n, 0n])
    assert.deepEqual(await place(appended, { 0: 2n }, 152n), [150n, 2n, 0n])
    assert.deepEqual(await place(appended, { 0: 4n }, 152n), [152n, undefined, 0n])
  })

  test('for many groups in one pass, which ends as soon as all are found', async () => {
    let seen = 0
    async function* counted() {
      for (const one of [run(0, 0, 0, 10), run(0, 20, 10, 10), run(0, 40, 20, 10)]) {
        seen++
        yield one
      }
    }
    const wanted = [3n, 15n, 20n].map(offset => ({ group: `${offset}`, byPartition: new Map([[0, offset]]) }))
    const found = await translate(counted(), { wanted, end: 30n, isSingle: true })
    assert.deepEqual(
      [...found].map(([group, { offset }]) => [group, offset]),
      [
        ['3', 3n],
        ['15', 10n],
        ['20', 10n],
      ],
    )
    assert.equal(seen, 2)
  })
})

describe('where several partitions have gone into one', () => {
  const joined = [run(0, 0, 0, 10), run(1, 0, 10, 10), run(2, 5, 20, 5)]

  test('a group stands at the lowest record that it has not read, and what lies read behind it is counted', async () => {
    assert.deepEqual(await place(joined, { 0: 4n, 1: 6n, 2: 7n }, 25n), [4n, 4n, 8n])
  })

  test('it reads nothing again where the unread ones come last', async () => {
    assert.deepEqual(await place(joined, { 0: 10n, 1: 10n, 2: 7n }, 25n), [22n, 7n, 0n])
    assert.deepEqual(await place(joined, { 0: 10n, 1: 10n, 2: 10n }, 25n), [25n, undefined, 0n])
  })

  test('a partition without a position counts as unread', async () => {
    assert.deepEqual(await place(joined, { 0: 10n, 2: 10n }, 25n), [10n, 0n, 5n])
  })
})
