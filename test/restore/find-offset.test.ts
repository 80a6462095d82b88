import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findOffset } from '../../src/restore/find-offset.ts'
import { offsetRuns } from '../cli/fake-actions.ts'

/** 10 to 12 are at 0 to 2, and 20 is at 3. */
async function find(offset: bigint) {
  async function* runs() {
    yield* offsetRuns
  }
  const place = await findOffset(runs(), offset)
  return place && [place.isExact, place.sourceOffset, place.targetOffset]
}

test('an offset is found, or the next one that has a record, or nothing', async () => {
  assert.deepEqual(await find(10n), [true, 10n, 0n])
  assert.deepEqual(await find(12n), [true, 12n, 2n])
  assert.deepEqual(await find(20n), [true, 20n, 3n])
  assert.deepEqual(await find(0n), [false, 10n, 0n])
  assert.deepEqual(await find(13n), [false, 20n, 3n])
  assert.equal(await find(21n), undefined)
})
