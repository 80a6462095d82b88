import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manifestKey } from '../../src/archive/layout.ts'
import { ArchiveReader } from '../../src/console/archive-reader.ts'
import { KeptResults } from '../../src/console/kept-results.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { storeGenerations } from '../archive/generation-samples.ts'
import { never } from '../archive/sample-archive.ts'
import { ManualClock } from '../cli/manual-clock.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

async function openReader() {
  const storage = openMemoryStorage()
  const days = ['2026-01-01', '2026-01-02', '2026-01-03'].map(day => ({
    created_at: `${day}T00:00:00.000Z`,
    records: 2,
  }))
  await storeGenerations(storage, days)
  const clock = new ManualClock()
  const reader = new ArchiveReader([{ name: 'memory', storage }], clock)
  return { storage, reader, clock, place: { at: 0, backupId: 'b1' } }
}

test('opens the newest generation where the chosen one is gone, and names that one', async () => {
  const { storage, reader, place } = await openReader()
  storage.objects.delete(manifestKey('b1', 1))
  const { manifest, gone, place: opened } = await reader.open({ ...place, generation: 1 }, never)
  assert.deepEqual([manifest.generation, gone, opened.generation], [3, 1, undefined])
})

test('shows each commit of a continuous backup, and its earlier states', async () => {
  const storage = openMemoryStorage()
  const states = [1, 2, 3].map(hour => ({ created_at: `2026-01-01T0${hour}:00:00.000Z`, records: 2 }))
  const clock = new ManualClock()
  const reader = new ArchiveReader([{ name: 'memory', storage }], clock)
  const place = { at: 0, backupId: 'b1' }
  await storeGenerations(storage, states.slice(0, 2), 1)
  assert.equal(await reader.newest(place, never), 2)
  const copy = openMemoryStorage()
  await storeGenerations(copy, states, 1)
  for (const [key, body] of copy.objects) storage.objects.set(key, body)
  clock.pass(2000)
  assert.equal(await reader.newest(place, never), 3)
  const records = async (generation?: number) => {
    const { manifest, gone } = await reader.open({ ...place, generation }, never)
    return [manifest.generation, manifest.topics[0]?.partitions[0]?.records, gone]
  }
  assert.deepEqual(
    [await records(), await records(2)],
    [
      [3, 6, undefined],
      [2, 4, undefined],
    ],
  )
})

test('does not open from memory what was pruned since', async () => {
  const { storage, reader, place, clock } = await openReader()
  assert.equal((await reader.open({ ...place, generation: 1 }, never)).gone, undefined)
  storage.objects.delete(manifestKey('b1', 1))
  clock.pass(2000)
  assert.equal((await reader.open({ ...place, generation: 1 }, never)).gone, 1)
})

test('shows a backup that was removed and made again under the same name, not the one before', async () => {
  const { storage, reader, place, clock } = await openReader()
  const before = await reader.open(place, never)
  storage.objects.clear()
  const days = ['2026-02-01', '2026-02-02', '2026-02-03'].map(day => ({
    created_at: `${day}T00:00:00.000Z`,
    records: 777,
  }))
  await storeGenerations(storage, days)
  clock.pass(2000)
  const after = await reader.open(place, never)
  assert.deepEqual(
    [before, after].map(({ manifest }) => [manifest.generation, manifest.created_at.slice(0, 7)]),
    [
      [3, '2026-01'],
      [3, '2026-02'],
    ],
  )
})

test('works again with the newest generation where a prune removes the open one meanwhile', async () => {
  const { storage, reader, place } = await openReader()
  const seen: (readonly [number, number | undefined])[] = []
  const result = await reader.read({ ...place, generation: 2 }, never, async ({ manifest, gone }) => {
    seen.push([manifest.generation, gone])
    if (manifest.generation === 3) return 'read'
    storage.objects.delete(manifestKey('b1', 2))
    throw new KafkaBackupError('ARCHIVE_DAMAGED', 'a segment is missing')
  })
  assert.equal(result, 'read')
  assert.deepEqual(seen, [
    [2, undefined],
    [3, 2],
  ])
})

test('reports damage of a generation that is still there', async () => {
  const { reader, place } = await openReader()
  const damage = new KafkaBackupError('ARCHIVE_DAMAGED', 'a segment is missing')
  await assert.rejects(
    reader.read(place, never, () => Promise.reject(damage)),
    damage,
  )
})

test('writes nothing', async () => {
  const { storage, reader, place } = await openReader()
  const before = new Map(storage.objects)
  await reader.read(place, never, async () => reader.newest(place, never))
  assert.deepEqual(new Map(storage.objects), before)
})

test('kept results are shared and limited in number, and failures are not kept', async () => {
  const kept = new KeptResults<number>(2)
  let reads = 0
  const read = async () => ++reads
  assert.deepEqual(await Promise.all([kept.get('a', read), kept.get('a', read)]), [1, 1])
  await kept.get('b', read)
  await kept.get('a', read)
  await kept.get('c', read)
  assert.equal(await kept.get('a', read), 1)
  assert.equal(await kept.get('b', read), 4)
  await assert.rejects(kept.get('d', () => Promise.reject(new Error('once'))))
  assert.equal(await kept.get('d', read), 5)
})
