import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { emptyPartition, withGap, withSegment } from '../../src/archive/summary.ts'
import { encodeRun } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { storeSegment } from './sample-archive.ts'

describe('what is known of a partition', () => {
  const rolledBack = { producer_id: 5n, first_offset: 2n, last_offset: null }
  const gap = { from: 4n, to: 9n, reason: 'retention' as const, found_at: '2026-01-02T03:04:05Z' }

  async function segments() {
    const storage = openMemoryStorage()
    const first = await storeSegment(storage, '0.log', [encodeRun(0n, 4)], false)
    const second = await storeSegment(storage, '9.log', [encodeRun(9n, 4)], false)
    return [first, second] as const
  }

  test('keeps a transaction that was rolled back, and whose marker is lost in a gap', async () => {
    const [first, second] = await segments()
    const before = withSegment(emptyPartition(0, 0n), first, 0, [rolledBack])
    const after = withSegment(withGap(before, gap), second, 0, [])
    assert.deepEqual(after.open_aborted, [{ ...rolledBack, last_offset: 8n }])
    assert.deepEqual(withSegment(after, second, 0, []).open_aborted, after.open_aborted)
  })

  test('leaves the marker of a transaction to the segment that holds it where nothing is lost', async () => {
    const [first, second] = await segments()
    const before = withSegment(emptyPartition(0, 0n), first, 0, [rolledBack])
    assert.deepEqual(withGap(before, { ...gap, to: null }).open_aborted, [rolledBack])
    assert.deepEqual(withSegment(before, second, 0, []).open_aborted, [])
  })
})
