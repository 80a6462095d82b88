import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PackSet } from '../../src/archive/log/pack-set.ts'
import { readSegment } from '../../src/archive/segment-reader.ts'
import { cutChunk, walkAnswer } from '../../src/backup/chunk.ts'
import type { PartitionCopy } from '../../src/backup/partition-copy.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeRun } from '../fakes/batches.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { makeCopy } from '../fakes/partition-copies.ts'

const { signal } = new AbortController()

function openPacks(storage: Storage): PackSet {
  const now = () => '2026-11-18T00:00:00.000Z'
  return new PackSet(storage, { backupId: 'b1', run: 'run1', maxPieceBytes: 1 << 20, now }, signal)
}

function store(copy: PartitionCopy, bytes: Buffer) {
  const chunk = cutChunk(walkAnswer(bytes, { start: 0, end: bytes.length }, copy.name), copy.position, copy.end)
  assert.ok(chunk)
  return copy.store(bytes, chunk, [])
}

/** Everything that is durable of a copy and not committed yet. */
async function contentOf(storage: Storage, copy: PartitionCopy): Promise<Buffer> {
  const found: Buffer[] = []
  for (const segment of copy.fresh) {
    for await (const bytes of readSegment(storage, segment, signal)) found.push(Buffer.from(bytes))
  }
  return Buffer.concat(found)
}

describe('a copy whose appends go to packs', () => {
  test('stores the last small chunk at once, and has it durable when the pack is written', async () => {
    const storage = openMemoryStorage()
    const packs = openPacks(storage)
    const copies = [100, 5000].map((valueBytes, partition) => {
      const copy = makeCopy({ storage, packs, partition, end: 3n, compression: 'zstd' })
      const bytes = encodeRun(0n, 3, { valueBytes, leaderEpoch: 7 })
      const stored = store(copy, bytes)
      assert.deepEqual(stored, { records: 3, bytes: bytes.length })
      const expected = Buffer.from(bytes)
      // The lane reads the next answer into the same memory.
      bytes.fill(0)
      return { copy, expected }
    })
    for (const { copy } of copies) {
      assert.deepEqual([copy.isDone, copy.isHanded, copy.isSettled, copy.isCaughtUp], [true, true, false, false])
      assert.equal(copy.durable.end_offset, 0n)
    }
    await packs.flush()
    for (const { copy, expected } of copies) {
      assert.deepEqual([copy.isSettled, copy.isCaughtUp], [true, true])
      const { end_offset, records, segments, last_epoch } = copy.durable
      assert.deepEqual([end_offset, records, segments, last_epoch], [3n, 3, 1, 7])
      assert.ok((await contentOf(storage, copy)).equals(expected))
    }
  })

  test('applies what is noted after such a chunk behind it', async () => {
    const storage = openMemoryStorage()
    const packs = openPacks(storage)
    const copy = makeCopy({ storage, packs, end: 3n })
    assert.ok(!(store(copy, encodeRun(0n, 3)) instanceof Promise))
    copy.recordGap({ from: 3n, to: 9n, reason: 'retention', found_at: '2026-11-18T00:00:00.000Z' })
    const order: string[] = []
    const settled = copy.settled().then(() => order.push(`settled at ${copy.durable.end_offset}`))
    await copy.handed()
    order.push(`handed at ${copy.durable.end_offset}`)
    await packs.flush()
    await settled
    assert.deepEqual(order, ['handed at 0', 'settled at 9'])
    assert.deepEqual([copy.durable.records, copy.durable.gaps.length], [3, 1])
  })

  test('fails with its pack, and what comes behind it has no effect', async () => {
    const faulty = withFaults(openMemoryStorage(), [{ on: 'commit', nth: 1, effect: { kind: 'throw-before' } }])
    const packs = openPacks(faulty)
    const copies = [0, 1].map(partition => makeCopy({ storage: faulty, packs, partition, end: 3n }))
    for (const copy of copies) assert.ok(!(store(copy, encodeRun(0n, 3)) instanceof Promise))
    copies[1]?.recordGap({ from: 3n, to: 9n, reason: 'retention', found_at: '2026-11-18T00:00:00.000Z' })
    await packs.flush()
    for (const copy of copies) {
      await assert.rejects(copy.settled(), { code: 'STORAGE_UNAVAILABLE' })
      await assert.rejects(copy.hand(), { code: 'STORAGE_UNAVAILABLE' })
      assert.deepEqual([copy.durable.end_offset, copy.fresh.length, copy.isCaughtUp], [0n, 0, false])
    }
    faulty.verifyAllFaultsExercised()
  })

  test('keeps a piece open until its last chunk', async () => {
    const storage = openMemoryStorage()
    const packs = openPacks(storage)
    const copy = makeCopy({ storage, packs, end: 4n })
    const first = store(copy, encodeRun(0n, 3))
    assert.ok(first instanceof Promise)
    await first
    const last = store(copy, encodeRun(3n, 1))
    assert.ok(last instanceof Promise)
    await last
    await copy.hand()
    await packs.flush()
    await copy.settled()
    assert.deepEqual([copy.durable.end_offset, copy.durable.segments], [4n, 1])
  })
})
