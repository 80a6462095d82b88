import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { openHasher } from '../../src/archive/hash.ts'
import type { Segment } from '../../src/archive/manifest.ts'
import { readSegment } from '../../src/archive/segment-reader.ts'
import { SegmentWriter } from '../../src/archive/segment-writer.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeBatch, encodeRun } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { factsOf, never, storeSegment } from './sample-archive.ts'

async function readAll(storage: Storage, segment: Segment): Promise<Buffer[]> {
  const pieces: Buffer[] = []
  for await (const piece of readSegment(storage, segment, never)) pieces.push(piece)
  return pieces
}

const batches = [300, 5, 70_000, 1, 5_000_000, 20].map((valueBytes, i) =>
  encodeRun(BigInt(i * 10), 10, { valueBytes: valueBytes / 10 }),
)

for (const compressed of [false, true]) {
  describe(`a segment, ${compressed ? 'compressed' : 'plain'}`, () => {
    test('is read back byte for byte in pieces of whole batches', async () => {
      const storage = openMemoryStorage()
      const segment = await storeSegment(storage, 'b/s', batches, compressed)
      const pieces = await readAll(storage, segment)
      assert.ok(Buffer.concat(pieces).equals(Buffer.concat(batches)))
      for (const piece of pieces) {
        const covered = walkBatches(piece, 0, piece.length).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
        assert.equal(covered, piece.length)
      }
      assert.equal(segment.size, storage.objects.get('b/s')?.length)
      assert.equal(segment.plain_size, Buffer.concat(batches).length)
      assert.equal(segment.frames?.length, compressed ? batches.length : undefined)
    })

    test('joins what was appended in steps', async () => {
      const storage = openMemoryStorage()
      const writer = await SegmentWriter.open(storage, 'b/s', compressed, never)
      for (const batch of batches) await writer.append([batch], factsOf([batch]), never)
      const stepwise = await writer.finish(never)
      const atOnce = await storeSegment(storage, 'b/t', batches, compressed)
      assert.deepEqual({ ...stepwise, key: '' }, { ...atOnce, key: '' })
      assert.deepEqual(storage.objects.get('b/s'), storage.objects.get('b/t'))
    })

    test('that is aborted leaves nothing', async () => {
      const storage = openMemoryStorage()
      const writer = await SegmentWriter.open(storage, 'b/s', compressed, never)
      await writer.append(batches, factsOf(batches), never)
      await writer.abort()
      assert.deepEqual([storage.objects.size, storage.openWriters.size], [0, 0])
    })
  })
}

test('a segment frees the frames that the store has taken, and leaves the batches alone', async () => {
  const taken: Uint8Array[] = []
  const write = async (chunks: readonly Uint8Array[]) => {
    assert.ok(chunks.every(chunk => chunk.length > 0))
    taken.push(...chunks)
  }
  const storage: Storage = {
    ...openMemoryStorage(),
    openWriter: async () => ({ write, commit: async () => undefined, abort: async () => undefined }),
  }
  const piece = randomBytes(1 << 20)
  const sizes: number[] = []
  for (const compressed of [true, false]) {
    const writer = await SegmentWriter.open(storage, 'b/s', compressed, never)
    await writer.append([piece], factsOf([encodeRun(0n, 10)]), never)
    sizes.push(...taken.splice(0).map(chunk => chunk.length))
  }
  assert.deepEqual(sizes, [0, piece.length])
})

test('a segment larger than one read is read in order, with batches across the reads', async () => {
  const storage = openMemoryStorage()
  const many = Array.from({ length: 40 }, (_, i) => encodeRun(BigInt(i), 1, { valueBytes: 300_000 }))
  const segment = await storeSegment(storage, 'b/s', many, false)
  const pieces = await readAll(storage, segment)
  assert.ok(pieces.length >= 3)
  assert.ok(Buffer.concat(pieces).equals(Buffer.concat(many)))
})

test('batches are whole wherever the frames of a segment begin and end', async () => {
  const storage = openMemoryStorage()
  const some = [encodeRun(0n, 1), encodeRun(1n, 2), encodeRun(3n, 1)]
  const plain = Buffer.concat(some)
  const whole = await storeSegment(storage, 'b/s', some, true)
  for (let cut = 1; cut < plain.length; cut++) {
    for (const second of [cut + 1, cut + 20, plain.length - 1].filter(at => at > cut && at < plain.length)) {
      const parts = [plain.subarray(0, cut), plain.subarray(cut, second), plain.subarray(second)]
      const frames = parts.map(part => zstdCompressSync(part))
      const stored = Buffer.concat(frames)
      storage.objects.set('b/cut', stored)
      const hasher = openHasher()
      hasher.update(stored)
      const sizes = frames.map((frame, i) => [frame.length, parts[i]?.length ?? 0] satisfies [number, number])
      const segment = { ...whole, key: 'b/cut', size: stored.length, frames: sizes, blake3: hasher.finish() }
      const pieces = await readAll(storage, segment)
      assert.ok(Buffer.concat(pieces).equals(plain), `cut at ${cut} and ${second}`)
      for (const piece of pieces) walkBatches(piece, 0, piece.length)
    }
  }
})

test('a length that reaches beyond the segment is found at once, without gathering the rest of it', async () => {
  const storage = openMemoryStorage()
  const many = Array.from({ length: 100 }, (_, i) => encodeRun(BigInt(i), 1, { valueBytes: 300_000 }))
  const segment = await storeSegment(storage, 'b/s', many, false)
  storage.objects.get('b/s')?.writeInt32BE(2_000_000_000, 8)
  let reads = 0
  const counting = {
    ...storage,
    readRange: (key: string, start: number, length: number, signal: AbortSignal) => {
      reads++
      return storage.readRange(key, start, length, signal)
    },
  }
  await assert.rejects(readAll(counting, segment), { code: 'ARCHIVE_DAMAGED' })
  assert.equal(reads, 1)
})

test('a frame that holds more than recorded stops at the recorded size', async () => {
  const storage = openMemoryStorage()
  const [big] = [encodeBatch({ records: [{ value: Buffer.alloc(10_000_000) }] })]
  const segment = await storeSegment(storage, 'b/s', [big], true)
  const lying = {
    ...segment,
    plain_size: 100,
    frames: segment.frames?.map(([stored]): [number, number] => [stored, 100]) ?? [],
  }
  await assert.rejects(readAll(storage, lying), { code: 'ARCHIVE_DAMAGED', message: /frame/ })
})

test('reading stops when it is told to', async () => {
  const storage = openMemoryStorage()
  const segment = await storeSegment(storage, 'b/s', batches, false)
  const reason = new Error('stopped')
  const reading = (async () => {
    for await (const _ of readSegment(storage, segment, AbortSignal.abort(reason))) assert.fail('there is a piece')
  })()
  await assert.rejects(reading, error => error === reason)
})

describe('a hostile index cannot make a reader allocate what it claims', () => {
  const bomb = zstdCompressSync(Buffer.alloc(4 << 20))

  async function refusal(change: Partial<Segment>): Promise<string> {
    const storage = openMemoryStorage()
    const segment = await storeSegment(storage, 'b/s', batches, true)
    storage.objects.set('b/s', bomb)
    const before = process.memoryUsage().rss
    const error = await readAll(storage, { ...segment, size: bomb.length, ...change }).catch(error => error)
    assert.equal(error.code, 'ARCHIVE_DAMAGED')
    assert.ok(process.memoryUsage().rss - before < 64 << 20)
    return error.message
  }

  test('a frame above the ceiling is refused before it is read', async () => {
    const plainSize = 4 * 2 ** 30
    const message = await refusal({ frames: [[bomb.length, plainSize]], plain_size: plainSize })
    assert.match(message, /a zstd frame claims 4294967296 plain bytes/)
  })

  test('frames that do not add up to the plain size are refused', async () => {
    const message = await refusal({ frames: [[bomb.length, 4 << 20]], plain_size: 5 << 20 })
    assert.match(message, /its frames hold 4194304 plain bytes instead of 5242880/)
  })

  test('a batch that claims more than a broker takes is refused before the rest is gathered', async () => {
    const storage = openMemoryStorage()
    const head = Buffer.alloc(4 << 20)
    head.writeInt32BE(2 ** 31 - 20, 8)
    const frame = zstdCompressSync(head)
    storage.objects.set('b/s', Buffer.concat(Array.from({ length: 600 }, () => frame)))
    const frames = Array.from({ length: 600 }, () => [frame.length, head.length] as [number, number])
    const size = frame.length * frames.length
    const segment = { ...(await storeSegment(storage, 'b/t', batches, true)), key: 'b/s', frames, size }
    const claim = { ...segment, plain_size: head.length * frames.length }
    await assert.rejects(readAll(storage, claim), /record batch at byte 0 has a length of/)
  })
})
