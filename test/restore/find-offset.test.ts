import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OffsetMapRun } from '../../src/restore/offset-map.ts'
import { findOffset } from '../../src/restore/offset-map.ts'
import { offsetRuns } from '../cli/fake-actions.ts'

/** 10 to 12 are at 0 to 2, and 20 is at 3. */
async function find(offset: bigint) {
  const place = await findOffset(mapsOf(offsetRuns), offset)
  return place && [place.isExact, place.sourceOffset, place.targetOffset]
}

async function* mapsOf(...lists: (readonly OffsetMapRun[])[]) {
  for (const list of lists) {
    yield (async function* () {
      yield* list
    })()
  }
}

test('an offset is found, or the next one that has a record, or nothing', async () => {
  assert.deepEqual(await find(10n), [true, 10n, 0n])
  assert.deepEqual(await find(12n), [true, 12n, 2n])
  assert.deepEqual(await find(20n), [true, 20n, 3n])
  assert.deepEqual(await find(0n), [false, 10n, 0n])
  assert.deepEqual(await find(13n), [false, 20n, 3n])
  assert.equal(await find(21n), undefined)
})

test('an offset whose partition was spread over several is found in any, and so is the nearest that follows', async () => {
  const place = { topic: 'a', partition: 0, targetTopic: 'a' }
  const run = (targetPartition: number, source: number, target: number, count: number): OffsetMapRun => ({
    ...place,
    targetPartition,
    sourceOffset: BigInt(source),
    targetOffset: BigInt(target),
    count: BigInt(count),
  })
  const lists = [
    [run(0, 1, 0, 2), run(0, 9, 2, 1)],
    [run(1, 3, 0, 1), run(1, 6, 1, 3)],
  ]
  const where = async (offset: bigint) => {
    const found = await findOffset(mapsOf(...lists), offset)
    return found && [found.isExact, found.sourceOffset, found.targetPartition, found.targetOffset].map(String).join(' ')
  }
  assert.deepEqual(await Promise.all([0n, 2n, 3n, 4n, 7n, 9n, 10n].map(where)), [
    'false 1 0 0',
    'true 2 0 1',
    'true 3 1 0',
    'false 6 1 1',
    'true 7 1 2',
    'true 9 0 2',
    undefined,
  ])
})
