import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BatchList } from '../../src/batch/batch-list.ts'
import type { BatchHeader } from '../../src/batch/header.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import { encodeBatch, encodeMarker, encodeRun } from '../fakes/batches.ts'

const bytes = Buffer.concat([
  encodeRun(0n, 1),
  encodeRun(2n ** 60n, 7, { producerId: 2n ** 61n, transactional: true, leaderEpoch: 4 }),
  encodeBatch({ baseOffset: 5n, baseTimestamp: -1n, codec: 'zstd', logAppendTime: true }),
  encodeMarker(9n, 4n, 'commit'),
])
const all = walkBatches(bytes, 0, bytes.length)
const list = new BatchList(
  bytes,
  all.map(({ position }) => position),
)

/** Of a cursor, too, whose fields are no properties that it has itself. */
function copyOf(header: BatchHeader): BatchHeader {
  const { position, sizeBytes, baseOffset, lastOffset, leaderEpoch } = header
  const { attributes, baseTimestamp, maxTimestamp, producerId, recordCount } = header
  const place = { position, sizeBytes, baseOffset, lastOffset, leaderEpoch }
  return { ...place, attributes, baseTimestamp, maxTimestamp, producerId, recordCount }
}

test('the headers of a list are those of its batches, however they are read', () => {
  assert.equal(all.length, 4)
  assert.deepEqual([...list], all)
  assert.deepEqual(Array.from(list.headers(), copyOf), all)
  assert.deepEqual(
    Array.from(list.sources(), ({ header }) => copyOf(header)),
    all,
  )
  assert.deepEqual([list.at(-1), list.at(4)], [all[3], undefined])
})

test('a slice has the batches from one index to another', () => {
  assert.deepEqual([...list.slice(1, 3)], all.slice(1, 3))
  assert.deepEqual([...list.slice(4, 5)], [])
})
