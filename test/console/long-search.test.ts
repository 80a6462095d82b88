import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ArchiveReader } from '../../src/console/archive-reader.ts'
import { findRecords, type ScanParts } from '../../src/console/find-records.ts'
import { findTopic } from '../../src/console/find-topic.ts'
import { readRecordQuery } from '../../src/console/record-query.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import { never, storeBackup, storePartitions } from '../archive/sample-archive.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { batchOf } from './sample-backups.ts'

/** Batches of this many bytes that take almost none as they are stored: all of them are one piece of a segment. */
function smallBatches(count: number, bytes: number): Buffer[] {
  return Array.from({ length: count }, (_, at) => batchOf(BigInt(at), [{ value: Buffer.alloc(bytes, 'a') }]))
}

async function partsOf(batches: Buffer[], clock: Clock, partitions = 1): Promise<ScanParts> {
  const storage = openMemoryStorage()
  if (partitions === 1) await storeBackup(storage, [batches])
  else await storePartitions(storage, Array(partitions).fill([batches]), false)
  const reader = new ArchiveReader([{ name: 'memory', storage }], clock)
  const backup = await reader.open({ at: 0, backupId: 'b1' }, never)
  return { backup, found: findTopic(backup, 'orders'), clock }
}

/** Every look at it takes longer than a request may. */
function hastyClock(): Clock {
  let ms = 0
  return { ...systemClock, monotonic: () => (ms += 10_000) }
}

for (const [what, query] of [
  ['text', 'text=zzz'],
  ['a time', 'until=2020-01-01'],
  ['a field', 'where=a%3D1'],
]) {
  test(`a search for ${what} stops when its client leaves, and lets others have their turn`, async () => {
    const parts = await partsOf(smallBatches(100, 4 << 20), systemClock)
    const leaving = new AbortController()
    const timer = setTimeout(() => leaving.abort(new Error('the client has left')), 20)
    const search = findRecords(parts, readRecordQuery(parts.found, new URLSearchParams(query)), leaving.signal)
    await assert.rejects(search, /the client has left/)
    clearTimeout(timer)
  })
}

for (const query of ['text=zzz', 'text=a', 'until=2020-01-01', 'where=a%3D1', 'key=x']) {
  test(`a search (${query}) ends at its time inside a piece, and each request comes further`, async () => {
    const parts = await partsOf(smallBatches(12, 100), hastyClock(), 3)
    const asked = new URLSearchParams(query)
    const found: string[] = []
    let requests = 0
    for (let isMore = true; isMore; requests++) {
      assert.ok(requests < 60, `it does not end: ${asked}`)
      const { records, next } = await findRecords(parts, readRecordQuery(parts.found, asked), never)
      found.push(...records.map(({ partition, offset }) => `${partition}/${offset}`))
      isMore = next !== undefined
      asked.set('resume', String(next?.partition))
      asked.set('at', String(next?.offset))
    }
    assert.ok(requests > 12, `${requests} requests`)
    assert.deepEqual([found.length, new Set(found).size], query === 'text=a' ? [36, 36] : [0, 0])
  })
}

test('a search reports records with values that are too large to be decoded for it, each once', async () => {
  const large = Buffer.from(`{"a":1,"b":"${'x'.repeat(4 << 20)}"}`)
  const values = [Buffer.from('{"a":1}'), large, Buffer.from('{"a":2}'), large]
  const batches = values.map((value, at) => batchOf(BigInt(at), [{ value }]))
  const search = async (query: string, clock: Clock) => {
    const parts = await partsOf(batches, clock)
    const { records, tooLarge } = await findRecords(
      parts,
      readRecordQuery(parts.found, new URLSearchParams(query)),
      never,
    )
    return [records.map(({ offset }) => offset), tooLarge]
  }
  assert.deepEqual(await search('where=a%3D1', systemClock), [[0n], 2])
  assert.deepEqual(await search('text=%22a%22:1', systemClock), [[0n, 1n, 3n], 0])
  for (const clock of [systemClock, hastyClock()])
    assert.deepEqual(await search('where=a%3D1&partition=0&before=9', clock), [[0n], 2])
})
