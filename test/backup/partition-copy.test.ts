import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readSegment } from '../../src/archive/segment-reader.ts'
import { cutChunk, cutPieces, walkAnswer } from '../../src/backup/chunk.ts'
import type { PartitionCopy } from '../../src/backup/partition-copy.ts'
import { walkBatches } from '../../src/batch/walk.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { encodeMarker, encodeRun } from '../fakes/batches.ts'
import { withFaults } from '../fakes/faulty-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { makeCopy, roll, settle } from '../fakes/partition-copies.ts'

const never = new AbortController().signal

async function store(
  copy: PartitionCopy,
  batches: Buffer[],
  aborted: { producerId: bigint; firstOffset: bigint }[] = [],
) {
  const bytes = Buffer.concat(batches)
  const chunk = cutChunk(walkAnswer(bytes, { start: 0, end: bytes.length }, copy.name), copy.position, copy.end)
  assert.ok(chunk)
  return copy.store(bytes, chunk, aborted)
}

/** The base offsets of the batches in each durable segment. */
async function contents(storage: Storage, copy: PartitionCopy): Promise<bigint[][]> {
  const all: bigint[][] = []
  for (const segment of copy.fresh) {
    const offsets: bigint[] = []
    for await (const bytes of readSegment(storage, segment, never)) {
      offsets.push(...walkBatches(bytes, 0, bytes.length).map(header => header.baseOffset))
    }
    all.push(offsets)
  }
  return all
}

const runs = (count: number, valueBytes = 100) =>
  Array.from({ length: count }, (_, i) => encodeRun(BigInt(i), 1, { valueBytes, leaderEpoch: i }))

describe('a partition copy', () => {
  test('fills segments to their size, across chunks and within one, and names them by their first batch', async () => {
    const storage = openMemoryStorage()
    const batches = runs(10)
    const size = batches[0]?.length ?? 0
    const copy = makeCopy({ storage, end: 10n, segmentBytes: 2.5 * size })
    assert.deepEqual(await store(copy, batches.slice(0, 2)), { records: 2, bytes: 2 * size })
    assert.deepEqual([copy.position, copy.lastEpoch, copy.isDone], [2n, 1, false])
    await store(copy, batches.slice(2))
    assert.equal(copy.isDone, true)
    await copy.settled()
    assert.deepEqual(await contents(storage, copy), [[0n, 1n, 2n], [3n, 4n, 5n], [6n, 7n, 8n], [9n]])
    assert.deepEqual(
      copy.fresh.map(({ key, start_offset, end_offset }) => [key, start_offset, end_offset]),
      [0n, 3n, 6n, 9n].map((base, i, all) => [
        `b1/kafka/orders/0/${String(base).padStart(20, '0')}.run1.log`,
        base,
        all[i + 1] ?? 10n,
      ]),
    )
    const { end_offset, records, segments, batches: counted, last_epoch, bytes } = copy.durable
    assert.deepEqual([end_offset, records, segments, counted, last_epoch, bytes], [10n, 10, 4, 10, 9, 10 * size])
  })

  test('keeps a segment open from chunk to chunk until it is settled', async () => {
    const storage = openMemoryStorage()
    const copy = makeCopy({ storage, end: 100n })
    await store(copy, runs(3))
    await copy.settled()
    assert.deepEqual([copy.fresh.length, copy.durable.end_offset, storage.openWriters.size], [0, 0n, 1])
    await settle(copy)
    assert.deepEqual([copy.fresh.length, copy.durable.end_offset, storage.openWriters.size], [1, 3n, 0])
    await settle(copy)
    assert.equal(copy.fresh.length, 1, 'settling twice adds nothing')
  })

  test('stores zstd where the producers left bytes plain, unless told otherwise', async () => {
    const compressionOf = async (compression: 'auto' | 'none' | 'zstd', codec: 'none' | 'gzip') => {
      const storage = openMemoryStorage()
      const copy = makeCopy({ storage, end: 3n, compression })
      await store(copy, [encodeRun(0n, 3, { codec, valueBytes: 2000 })])
      await copy.settled()
      assert.equal((await contents(storage, copy)).flat().length, 1)
      return [copy.fresh[0]?.compression, copy.fresh[0]?.key.endsWith('.log.zst')]
    }
    assert.deepEqual(await compressionOf('auto', 'none'), ['zstd', true])
    assert.deepEqual(await compressionOf('auto', 'gzip'), ['none', false])
    assert.deepEqual(await compressionOf('zstd', 'gzip'), ['zstd', true])
    assert.deepEqual(await compressionOf('none', 'none'), ['none', false])
  })

  test('starts with the whole batch where the log was cut inside it', async () => {
    const storage = openMemoryStorage()
    const copy = makeCopy({ storage, start: 4n, end: 10n })
    await store(copy, [encodeRun(0n, 10)])
    await copy.settled()
    const [segment] = copy.fresh
    assert.match(segment?.key ?? '', /\/0{20}\.run1\.log$/)
    assert.deepEqual([segment?.start_offset, segment?.records, copy.durable.records], [4n, 6, 6])
  })

  test('knows at each segment which rolled-back transactions are still open', async () => {
    const storage = openMemoryStorage()
    const data = (base: bigint) => encodeRun(base, 5, { producerId: 9n, transactional: true })
    const copy = makeCopy({ storage, end: 100n, segmentBytes: data(0n).length })
    const aborted = [{ producerId: 9n, firstOffset: 0n }]
    await store(copy, [data(0n)], aborted)
    await copy.settled()
    assert.deepEqual(copy.durable.open_aborted, [{ producer_id: 9n, first_offset: 0n, last_offset: null }])
    await store(copy, [data(5n), encodeMarker(10n, 9n, 'abort'), data(11n)], aborted)
    await settle(copy)
    assert.deepEqual(copy.durable.open_aborted, [])
    assert.equal(copy.durable.aborted_records, 10)
    assert.deepEqual(
      copy.fresh.flatMap(segment => segment.aborted ?? []),
      [{ producer_id: 9n, first_offset: 0n, last_offset: 10n }],
    )
  })

  test('closes its segment before a gap, so that none hides inside one', async () => {
    const storage = openMemoryStorage()
    const copy = makeCopy({ storage, end: 100n })
    await store(copy, runs(3))
    const gap = { from: 3n, to: 50n, reason: 'retention', found_at: 'now' } as const
    copy.recordGap(gap)
    assert.equal(copy.position, 50n)
    await store(copy, [encodeRun(50n, 50)])
    await settle(copy)
    assert.deepEqual(
      copy.fresh.map(({ start_offset, end_offset }) => [start_offset, end_offset]),
      [
        [0n, 3n],
        [50n, 100n],
      ],
    )
    assert.deepEqual([copy.durable.end_offset, copy.durable.gaps], [100n, [gap]])
  })

  test('ends at once at a gap without end, and stays where it was', async () => {
    const copy = makeCopy({ storage: openMemoryStorage(), end: 100n })
    await store(copy, runs(3))
    copy.recordGap({ from: 3n, to: null, reason: 'topic_deleted', found_at: 'now' })
    assert.equal(copy.isDone, true)
    await settle(copy)
    assert.deepEqual([copy.durable.end_offset, copy.durable.gaps.length, copy.durable.records], [3n, 1, 3])
  })

  test('that finds nothing up to its end is done, and its durable end stays at its last batch', async () => {
    const copy = makeCopy({ storage: openMemoryStorage(), end: 100n })
    await store(copy, runs(3))
    copy.skipToEnd()
    await settle(copy)
    assert.deepEqual([copy.isDone, copy.durable.end_offset], [true, 3n])
  })

  test('makes an open segment durable when it is asked to, and goes on with the next', async () => {
    const storage = openMemoryStorage()
    const copy = makeCopy({ storage, end: 10n })
    await roll(copy)
    assert.equal(copy.durable.segments, 0)
    await store(copy, runs(2))
    await roll(copy)
    assert.deepEqual([copy.durable.end_offset, copy.durable.segments], [2n, 1])
    await store(copy, runs(5).slice(2))
    await settle(copy)
    assert.deepEqual(await contents(storage, copy), [
      [0n, 1n],
      [2n, 3n, 4n],
    ])
  })

  test('asked in the middle of a write rolls after it, never within', async () => {
    const memory = openMemoryStorage()
    const storage = withFaults(memory, [{ on: 'write', effect: { kind: 'delay', ms: 5 } }])
    const copy = makeCopy({ storage, end: 10n })
    await store(copy, runs(1))
    const storing = store(copy, runs(4).slice(1))
    await roll(copy)
    assert.deepEqual([copy.durable.end_offset, copy.durable.segments], [4n, 1])
    await storing
    assert.deepEqual(await contents(memory, copy), [[0n, 1n, 2n, 3n]])
  })

  test('whose write fails while a roll is asked for keeps nothing of that segment', async () => {
    const memory = openMemoryStorage()
    const storage = withFaults(memory, [{ on: 'write', nth: 2, effect: { kind: 'throw-before' } }])
    const copy = makeCopy({ storage, end: 10n })
    await store(copy, runs(1))
    const storing = store(copy, runs(2).slice(1))
    await roll(copy)
    await assert.rejects(storing, { code: 'STORAGE_UNAVAILABLE' })
    await roll(copy)
    assert.deepEqual([copy.durable.segments, memory.objects.size], [0, 0])
    await copy.abort()
  })

  test('forgets what a commit has named, and keeps what came meanwhile', async () => {
    const batches = runs(4)
    const copy = makeCopy({ storage: openMemoryStorage(), end: 10n, segmentBytes: batches[0]?.length ?? 0 })
    await store(copy, batches.slice(0, 2))
    await copy.settled()
    const named = copy.durable.segments
    await store(copy, batches.slice(2))
    await copy.settled()
    const index = { key: 'k', size: 1, blake3: 'x', segments: 2 }
    copy.committed({ segments: named, indexes: [index] })
    assert.deepEqual([copy.fresh.map(({ start_offset }) => start_offset), copy.durable.indexes], [[2n, 3n], [index]])
    assert.deepEqual([copy.durable.segments, copy.durable.end_offset], [4, 4n])
  })
})

describe('a partition copy whose store fails', () => {
  test('at a write never finishes that segment, and takes nothing more', async () => {
    const memory = openMemoryStorage()
    const storage = withFaults(memory, [{ on: 'write', nth: 2, effect: { kind: 'throw-before' } }])
    const batches = runs(4)
    const copy = makeCopy({ storage, end: 10n })
    await store(copy, batches.slice(0, 1))
    await assert.rejects(store(copy, batches.slice(1, 2)), { code: 'STORAGE_UNAVAILABLE' })
    await assert.rejects(store(copy, batches.slice(1, 3)), { code: 'STORAGE_UNAVAILABLE' })
    await assert.rejects(settle(copy), { code: 'STORAGE_UNAVAILABLE' })
    await copy.abort()
    assert.deepEqual(
      [copy.durable.end_offset, copy.fresh.length, memory.objects.size, memory.openWriters.size],
      [0n, 0, 0, 0],
    )
    storage.verifyAllFaultsExercised()
  })

  test('at a commit stays at the segment before, though later ones succeed, and leaves no writer open', async () => {
    const memory = openMemoryStorage()
    const storage = withFaults(memory, [{ on: 'commit', nth: 2, effect: { kind: 'throw-before' } }])
    const batches = runs(6)
    const copy = makeCopy({ storage, end: 10n, segmentBytes: batches[0]?.length ?? 0 })
    await assert.rejects(async () => {
      for (const batch of batches) await store(copy, [batch])
    })
    await assert.rejects(settle(copy), { code: 'STORAGE_UNAVAILABLE' })
    await copy.abort()
    assert.deepEqual([copy.durable.end_offset, copy.durable.segments, copy.fresh.length], [1n, 1, 1])
    assert.deepEqual([...memory.openWriters], [])
    storage.verifyAllFaultsExercised()
  })

  test('at a wrong checksum keeps its segment: the source may send the batch right next time', async () => {
    const storage = openMemoryStorage()
    const copy = makeCopy({ storage, end: 3n })
    const [first, second, third] = runs(3)
    assert.ok(first && second && third)
    await store(copy, [first])
    const damaged = Buffer.from(second)
    damaged[65] = 99
    await assert.rejects(store(copy, [damaged]), { code: 'SOURCE_CORRUPT' })
    assert.equal(copy.position, 1n)
    await store(copy, [second, third])
    await copy.settled()
    assert.deepEqual(await contents(storage, copy), [[0n, 1n, 2n]])
  })
})

test('segments become durable in their order, one in the background while the next one fills, not more', async () => {
  const memory = openMemoryStorage()
  const gates: (() => void)[] = []
  const storage: Storage = {
    ...memory,
    openWriter: async (key, signal) => {
      const writer = await memory.openWriter(key, signal)
      const commit = async () => {
        await new Promise<void>(resolve => gates.push(resolve))
        await writer.commit(never)
      }
      return { ...writer, commit }
    },
  }
  const batches = runs(5)
  const copy = makeCopy({ storage, end: 5n, segmentBytes: batches[0]?.length ?? 0 })
  let stored = 0
  const storing = (async () => {
    for (const batch of batches) {
      await store(copy, [batch])
      stored++
    }
  })()
  const idle = () => new Promise(resolve => setImmediate(resolve))
  for (let i = 0; i < 20; i++) await idle()
  assert.deepEqual([stored, memory.openWriters.size, gates.length], [2, 2, 1])
  for (let i = 0; i < 100 && stored < 5; i++) {
    gates.shift()?.()
    await idle()
    assert.ok(memory.openWriters.size <= 2)
  }
  await storing
  const settled = copy.settled()
  for (let i = 0; i < 100 && memory.openWriters.size > 0; i++) {
    gates.shift()?.()
    await idle()
  }
  await settled
  assert.deepEqual(
    copy.fresh.map(({ start_offset }) => start_offset),
    [0n, 1n, 2n, 3n, 4n],
  )
})

test('pieces end at batch ends, hold every byte once and are about as large as asked for', () => {
  const batches = [10, 300, 5, 5, 5, 1000, 1].map((valueBytes, i) => encodeRun(BigInt(i), 1, { valueBytes }))
  const bytes = Buffer.concat([Buffer.from('before'), ...batches, Buffer.from('behind')])
  const headers = walkBatches(bytes, 6, bytes.length - 6)
  for (const pieceBytes of [1, 100, 250, 500, 1 << 20]) {
    const pieces = cutPieces(bytes, headers, pieceBytes)
    assert.ok(Buffer.concat(pieces).equals(Buffer.concat(batches)))
    for (const piece of pieces) {
      const walked = walkBatches(piece, 0, piece.length)
      assert.equal(
        walked.reduce((sum, header) => sum + header.sizeBytes, 0),
        piece.length,
      )
    }
    for (const piece of pieces.slice(0, -1)) assert.ok(piece.length >= pieceBytes)
  }
  assert.deepEqual(cutPieces(bytes, [], 100), [])
})
