import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leastTime } from '../../src/batch/record-cursor.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { type BatchSpec, encodeBatch } from '../fakes/batches.ts'

function least(deltas: bigint[], spec: Partial<BatchSpec> = {}) {
  const records = deltas.map(timestampDelta => ({ value: Buffer.from('v'), timestampDelta }))
  const bytes = encodeBatch({ baseOffset: 0n, baseTimestamp: 1000n, records, ...spec })
  const [header] = walkBatches(bytes, 0, bytes.length)
  assert.ok(header)
  return leastTime(bytes, header)
}

test('the least time of a batch is that of any of its records', async () => {
  assert.equal(await least([0n, 5n, 2n]), 1000n)
  assert.equal(await least([0n, -5n, 2n]), 995n)
  assert.equal(await least([0n, 5n, -7n], { codec: 'gzip' }), 993n)
})

test('also where times are too far apart for plain numbers', async () => {
  assert.equal(await least([0n, -(2n ** 60n)]), 1000n - 2n ** 60n)
  assert.equal(await least([0n, 2n ** 60n]), 1000n)
  assert.equal(await least([0n, 1n], { baseTimestamp: 2n ** 62n }), 2n ** 62n)
})

test('a batch that the broker stamped has one time, and one without records none', async () => {
  assert.equal(await least([0n, -5n], { logAppendTime: true, maxTimestamp: 7000n }), 7000n)
  assert.equal(await least([]), null)
})

test('batches that are looked into at the same time do not mix', async () => {
  const deltas = Array.from({ length: 20 }, (_, i) => BigInt(-i))
  const found = await Promise.all(deltas.map(delta => least([0n, delta], { codec: 'zstd' })))
  assert.deepEqual(
    found,
    deltas.map(delta => 1000n + delta),
  )
})
