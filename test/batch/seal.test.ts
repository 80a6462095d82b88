import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BatchBuilder, sealBatch } from '../../src/batch/batch-builder.ts'
import { readHeader } from '../../src/batch/header.ts'
import { RecordCursor } from '../../src/batch/record-cursor.ts'
import { encodeBatch } from '../fakes/batches.ts'

test('no record is lost whose time fits into the whole batch and not into its half', () => {
  const far = 2n ** 62n + 5n
  const records = [0n, far, -far].map(timestampDelta => ({ value: Buffer.alloc(500), timestampDelta }))
  const bytes = encodeBatch({ baseOffset: 7n, baseTimestamp: 0n, records })
  const builder = new BatchBuilder(Number.POSITIVE_INFINITY, 0)
  const cursor = new RecordCursor()
  cursor.open(bytes, readHeader(bytes, 0))
  while (cursor.next()) assert.ok(builder.append(cursor, 1))
  assert.deepEqual(
    sealBatch(builder.take(), 'none', 1200).map(({ runs, maxTimestamp }) => [runs, maxTimestamp]),
    [
      [[{ sourceOffset: 7n, count: 1 }], 0n],
      [[{ sourceOffset: 8n, count: 1 }], far],
      [[{ sourceOffset: 9n, count: 1 }], -far],
    ],
  )
})
