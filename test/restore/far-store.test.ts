import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readOutgoing } from '../../src/restore/outgoing.ts'
import { countAheadBytes } from '../../src/restore/stream-memory.ts'
import { never, storeSegment } from '../archive/sample-archive.ts'
import { encodeRun } from '../fakes/batches.ts'
import { countRoundTrips, openFarStorage } from '../fakes/far-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const MiB = 1 << 20

/** Reads segments of one partition as a restore does, from a store that is far away. */
async function read(segments: number, batches: number, valueBytes: number, aheadBytes: number) {
  const near = openMemoryStorage()
  const stored = []
  for (let i = 0; i < segments; i++) {
    const own = Array.from({ length: batches }, (_, j) => encodeRun(BigInt(i * batches + j), 1, { valueBytes }))
    stored.push(await storeSegment(near, `k/${i}`, own, false))
  }
  const far = openFarStorage(near)
  const fixed = { name: 't/0', sourcePartition: 0, openAborted: [], start: 0n, end: 10_000n, timeWindow: {} }
  const limits = { maxBytes: 8 * MiB, batchBytes: 1, givesBack: true as const }
  const options = { ...fixed, ...limits, segments: stored, aheadBytes }
  const { roundTrips, result } = await countRoundTrips(far, async () => {
    let count = 0
    for await (const { recordCount } of readOutgoing(far.storage, options, never)) count += recordCount
    return count
  })
  assert.equal(result, segments * batches)
  return { roundTrips, requests: far.requests.length }
}

describe('a partition that is read from a store far away', () => {
  test('waits for a third of the requests of a large segment, with the memory for two more', async () => {
    assert.deepEqual(await read(1, 12, 2 * MiB, 0), { roundTrips: 7, requests: 7 })
    const { roundTrips, requests } = await read(1, 12, 2 * MiB, 8 * MiB)
    assert.equal(requests, 7)
    assert.ok(roundTrips <= 3, `${roundTrips} round trips`)
  })

  test('does not wait at the end of each segment', async () => {
    assert.deepEqual(await read(34, 1, 1000, 0), { roundTrips: 34, requests: 34 })
    assert.deepEqual(await read(34, 1, 1000, 8 * MiB), { roundTrips: 2, requests: 34 })
  })
})

test('the memory that a job has left is used to read ahead, and none where all of its partitions are filled', () => {
  const memoryBudgetBytes = 96 * MiB
  assert.equal(countAheadBytes({ memoryBudgetBytes }, 4), 8 * MiB)
  assert.equal(countAheadBytes({ memoryBudgetBytes }, 8), 4 * MiB)
  assert.equal(countAheadBytes({ memoryBudgetBytes }, 500), 0)
  assert.equal(countAheadBytes({ memoryBudgetBytes: 32 * MiB }, 4), 0)
})
