import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMapping } from '../../src/offsets/mapping.ts'
import type { Origin } from '../../src/offsets/origin.ts'
import { planOffsets } from '../../src/offsets/plan-offsets.ts'
import { runPlan } from '../../src/offsets/run-plan.ts'
import { fakeOffsets, memoryBook, plainLog } from './fake-offsets.ts'

const never = new AbortController().signal
const MIXED = /^records of several partitions of the source are mixed here \(orders\/0, orders\/1\), so no offset/

/** By source partition, offset there, target partition, offset there, count. */
const run = (partition: number, offset: number, to: number, targetOffset: number, count: number) => ({
  ...{ topic: 'orders', partition, offset, target_topic: 'copy', target_partition: to },
  ...{ target_offset: targetOffset, count },
})

const origin = (...offsets: (number | undefined)[]): Origin => ({
  name: 'the snapshot s1',
  clusterId: 'source',
  groups: [
    {
      group: 'billing',
      positions: offsets.flatMap((offset, partition) =>
        offset === undefined ? [] : [{ topic: 'orders', partition, offset: BigInt(offset), metadata: '' }],
      ),
    },
  ],
})

async function planned(runs: readonly object[], ...offsets: (number | undefined)[]) {
  const fake = fakeOffsets({ copy: [plainLog(30), plainLog(30), plainLog(30)] })
  const mapping = parseMapping(JSON.stringify({ runs }), 'm.json')
  const selection = { groups: ['billing'], topics: [], partitions: [] }
  const request = { strategy: 'from_mapping', mapping, origin: origin(...offsets), selection } as const
  const plan = await planOffsets(request, fake, never)
  const rows = plan.groups.flatMap(({ positions }) =>
    positions.map(({ partition, to, problem }) => ({ partition, to, problem })),
  )
  return { fake, plan, rows }
}

/** Partition 0 of the target has records of both, partition 1 of one of them. */
const byKey = [run(0, 0, 0, 0, 4), run(1, 0, 0, 4, 4), run(1, 4, 1, 0, 6)]

test('a partition that mixes partitions of the source is a problem of its row, and the others are set', async () => {
  const { fake, plan, rows } = await planned(byKey, 2, 6)
  assert.equal(rows.length, 2)
  assert.deepEqual([rows[0]?.partition, rows[0]?.to], [0, null])
  assert.match(rows[0]?.problem ?? '', MIXED)
  assert.deepEqual(rows[1], { partition: 1, to: 2n, problem: undefined })
  const report = await runPlan(plan, { port: fake, book: memoryBook().book }, never)
  assert.equal(report.groups[0]?.outcome, 'partly')
  assert.deepEqual(fake.at('billing'), { 'copy/1': 2 })
})

test('a mixed partition is a problem whatever the group has read of it, also with a position on a part of it', async () => {
  for (const offsets of [[4, 4], [0, 0], [4], [undefined, 2]]) {
    const { rows } = await planned(byKey, ...offsets)
    assert.match(rows.find(({ partition }) => partition === 0)?.problem ?? '', MIXED, offsets.join())
  }
})

test('a partition without restored records has no namesake where the restore did not keep partitions', async () => {
  const { rows } = await planned(byKey, 2, 6, 5)
  assert.match(
    rows[2]?.problem ?? '',
    /^nothing of this partition was restored, and .* no offset here corresponds to it$/,
  )
  const kept = await planned([run(0, 0, 0, 0, 4)], undefined, undefined, 5)
  assert.deepEqual(kept.rows, [
    { partition: 0, to: null, problem: undefined },
    { partition: 2, to: 0n, problem: undefined },
  ])
})

test('records that a mapping does not have in their order are a problem', async () => {
  const { rows } = await planned([run(0, 0, 0, 0, 4), run(0, 2, 0, 4, 6)], 3)
  assert.match(rows[0]?.problem ?? '', /does not have the records of orders\/0 in their order/)
})

test('a map of one partition is refused, because it does not show what is mixed with it', () => {
  const text = JSON.stringify({ partition: 1, runs: byKey.filter(({ partition }) => partition === 1) })
  assert.throws(() => parseMapping(text, 'm.json'), {
    code: 'CONFIG_INVALID',
    message: /m\.json maps partition 1 alone/,
  })
})

test('a partition that gets no offset may be without a leader', async () => {
  const fake = fakeOffsets({ copy: [plainLog(30), plainLog(30), plainLog(30)] })
  const { readBounds } = fake
  fake.readBounds = async (places, signal) => {
    assert.deepEqual(
      places.map(({ partition }) => partition),
      [1],
    )
    return readBounds(places, signal)
  }
  const runs = [run(0, 0, 0, 0, 4), run(1, 0, 0, 4, 4), run(1, 4, 1, 0, 6), run(2, 0, 2, 0, 5)]
  const request = {
    strategy: 'from_mapping',
    mapping: parseMapping(JSON.stringify({ runs }), 'm.json'),
    origin: origin(2, 6),
    selection: { groups: ['billing'], topics: [], partitions: [] },
  } as const
  const { groups } = await planOffsets(request, fake, never)
  assert.deepEqual(
    groups[0]?.positions.map(({ partition, to }) => [partition, to]),
    [
      [0, null],
      [1, 2n],
      [2, null],
    ],
  )
})
