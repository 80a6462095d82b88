import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Segment } from '../../src/archive/manifest.ts'
import { SizeTable } from '../../src/archive/size-table.ts'
import { emptyPartition, withSegment } from '../../src/archive/summary.ts'
import { verifyRecords } from '../../src/archive/verify-records.ts'
import { encodeRun } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { never, storeSegment, topicOf } from './sample-archive.ts'

test('a verification has the segments of few lists in memory, however many the backup has', async () => {
  const storage = openMemoryStorage()
  const key = 'b1/packs/shared.pack'
  const segment: Segment = await storeSegment(storage, key, [encodeRun(0n, 3)], false)
  const sizes = new SizeTable()
  sizes.add(key, segment.size)
  let checked = 0
  let read = 0
  let mostAhead = 0
  const lists = Array.from({ length: 100 }, (_, number) => {
    const list = {
      read: async () => {
        mostAhead = Math.max(mostAhead, ++read - checked)
        return [segment]
      },
    }
    const one = { ...withSegment(emptyPartition(number, 0n), segment, 0, []), list }
    return { topic: topicOf('orders', [one]), one }
  })
  const totals = new Set<number>()
  const onProgress = (event: { type: string; objects?: number; totalObjects?: number }) => {
    if (event.type !== 'checked') return
    checked = event.objects ?? 0
    totals.add(event.totalObjects ?? 0)
  }
  const found = await verifyRecords(storage, lists, { deep: true, sizes, onProgress }, never)
  assert.deepEqual(found, { objects: 1, bytes: 100 * segment.size, problems: [] })
  assert.deepEqual([checked, [...totals]], [100, [100]])
  assert.ok(mostAhead <= 20, `${mostAhead} lists were read before their segments were checked`)
})
