import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { PackStream } from '../../../src/archive/log/pack-stream.ts'
import { readSegment } from '../../../src/archive/segment-reader.ts'
import { type ChunkFacts, quickFrame } from '../../../src/archive/segment-writer.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { encodeBatch } from '../../fakes/batches.ts'
import { openMemoryStorage } from '../../fakes/memory-storage.ts'

const { signal } = new AbortController()
const CHUNK_BYTES = 1 << 20
const options = { backupId: 'b', run: 'r', maxPieceBytes: 1e9, now: () => '2026-11-17T00:00:00.000Z' }

function factsFor(from: number): ChunkFacts {
  const none = { abortedRecords: 0, firstTimestamp: null, lastTimestamp: null, aborted: [] }
  return { startOffset: BigInt(from), endOffset: BigInt(from + 1), batches: 1, records: 1, ...none }
}

/** Half of it compresses well. */
function batchOf(bytes: number, offset: number): Buffer {
  const value = Buffer.concat([randomBytes(bytes / 2), Buffer.alloc(bytes / 2)])
  return encodeBatch({ baseOffset: BigInt(offset), records: [{ value }] })
}

/** A store that notes what its writers hold, and lets others compress while a chunk is written. */
function watched(storage: Storage, sizes: number[]): Storage {
  return {
    ...storage,
    openWriter: async (key, one) => {
      const writer = await storage.openWriter(key, one)
      return {
        ...writer,
        write: async (chunks, two) => {
          sizes.push(chunks.reduce((sum, { length }) => sum + length, 0))
          await new Promise(resolve => setImmediate(resolve))
          quickFrame(randomBytes(20_000))
          return writer.write(chunks, two)
        },
        commit: two => writer.commit(two),
        abort: () => writer.abort(),
      }
    },
  }
}

test('pieces of any size are read back as they were added, with a chunk at a time in the hands of the store', async () => {
  const storage = openMemoryStorage()
  const sizes: number[] = []
  const packs = new PackStream(watched(storage, sizes), { ...options, maxPackBytes: 3 << 20 }, signal)
  const plain = [100, 3000, 700_000, 20_000, 2_500_000, 30_000, 50_000, 900_000, 1_300_000, 10].map(batchOf)
  for (let i = 0; i < 200; i++) plain.push(batchOf(25_000, plain.length))
  const memory = Buffer.alloc(3_000_000)
  for (const [i, batch] of plain.entries()) {
    const used = memory.subarray(0, batch.copy(memory))
    await packs.add({ level: 2, plain: used, facts: factsFor(i), compressed: i % 3 > 0 })
    // The caller uses its memory again.
    memory.fill(0)
  }
  const segments = await packs.finish()
  assert.equal(segments.length, plain.length)
  for (const [i, segment] of segments.entries()) {
    const found: Buffer[] = []
    for await (const bytes of readSegment(storage, segment, signal)) found.push(Buffer.from(bytes))
    assert.ok(Buffer.concat(found).equals(plain[i] as Buffer), `piece ${i}`)
    assert.equal(segment.piece?.level, 2)
  }
  const keys = new Set(segments.map(({ key }) => key))
  assert.ok(keys.size >= 2, `${keys.size} packs`)
  assert.deepEqual([...storage.objects.keys()].sort(), [...keys].sort())
  for (const { piece } of segments) assert.equal(storage.objects.get(piece?.pack.key ?? '')?.length, piece?.pack.size)
  assert.ok(Math.max(...sizes) <= CHUNK_BYTES, `${Math.max(...sizes)} bytes at once`)
})

test('a chunk that cannot be written fails the merge, and the pack is not left behind', async () => {
  const storage = openMemoryStorage()
  let aborted = 0
  const failing: Storage = {
    ...storage,
    openWriter: async (key, one) => {
      const writer = await storage.openWriter(key, one)
      const abort = () => {
        aborted++
        return writer.abort()
      }
      return { write: () => Promise.reject(new Error('no space')), commit: two => writer.commit(two), abort }
    },
  }
  const packs = new PackStream(failing, options, signal)
  const add = () => packs.add({ level: 1, plain: batchOf(900_000, 0), facts: factsFor(0), compressed: false })
  await add()
  await assert.rejects(async () => {
    await add()
    await add()
    await packs.finish()
  }, /no space/)
  await packs.abort()
  assert.equal(aborted, 1)
  assert.equal(storage.objects.size, 0)
})
