import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { withEncryption } from '../../src/encryption/encrypted-storage.ts'
import { newDataKey } from '../../src/encryption/key-wrap.ts'
import { ObjectCipher, openObject, sealObject } from '../../src/encryption/object-cipher.ts'
import { countFrames, FRAME_BYTES, HEADER_BYTES, plainSizeOf, TAG_BYTES } from '../../src/encryption/object-header.ts'
import { hasCode } from '../../src/errors.ts'
import { giveBackMemory } from '../../src/lib/recycled-memory.ts'
import { withObservation } from '../../src/storage/observed.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { keyOf, never, ownKeys } from './samples.ts'

const edges = [0, 1, FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1, 2 * FRAME_BYTES, 3 * FRAME_BYTES + 17]
const STORED_FRAME = FRAME_BYTES + TAG_BYTES

describe('sizes', () => {
  test('plain and stored sizes follow from each other', () => {
    for (let i = 0; i < 20_000; i++) {
      const plain = edges[i] ?? Math.floor(Math.random() * 2 ** (1 + (i % 45)))
      assert.equal(plainSizeOf(storedSizeOf(plain)), plain)
      assert.equal(storedSizeOf(plain), HEADER_BYTES + plain + TAG_BYTES * countFrames(plain))
    }
  })

  test('no two plain sizes are stored as the same size, and other sizes are none', () => {
    const around = (n: number) => Array.from({ length: 200 }, (_, i) => Math.max(0, n - 100 + i))
    const plains = [...new Set([0, FRAME_BYTES, 2 * FRAME_BYTES].flatMap(around))].sort((a, b) => a - b)
    const stored = new Map(plains.map(plain => [storedSizeOf(plain), plain]))
    assert.equal(stored.size, plains.length)
    for (let size = 0; size < 2 * STORED_FRAME + 300; size++) {
      const plain = plainSizeOf(size)
      if (plain !== undefined) assert.equal(storedSizeOf(plain), size)
    }
    for (const size of [0, 63, 64, 79, HEADER_BYTES + STORED_FRAME + 1, HEADER_BYTES + STORED_FRAME + 16]) {
      assert.equal(plainSizeOf(size), undefined, String(size))
    }
  })
})

describe('ranges of encrypted objects', () => {
  const body = randomBytes(4 * FRAME_BYTES + 12_345)

  test('are exact wherever they begin and end, in any order', async () => {
    const storage = withEncryption(openMemoryStorage(), ownKeys([keyOf()]))
    await storage.create('b1/a', body, never)
    for (let i = 0; i < 400; i++) {
      const start = Math.floor(Math.random() * body.length)
      const length = Math.min(body.length - start, Math.floor(Math.random() * 2 ** (1 + (i % 21))))
      assert.ok((await storage.readRange('b1/a', start, length, never)).equals(body.subarray(start, start + length)))
    }
  })

  test('are exact where many of the same object are read at the same time', async () => {
    const storage = withEncryption(openMemoryStorage(), ownKeys([keyOf()]))
    await storage.create('b1/a', body, never)
    const starts = Array.from({ length: 60 }, (_, i) => (i * 70_001) % (body.length - 600_000))
    const ranges = await Promise.all(starts.map(start => storage.readRange('b1/a', start, 600_000, never)))
    for (const [i, start] of starts.entries()) {
      assert.ok(ranges[i]?.equals(body.subarray(start, start + 600_000)), String(start))
    }
  })

  test('of all sizes around the end of a frame are exact', async () => {
    const storage = withEncryption(openMemoryStorage(), ownKeys([keyOf()]))
    for (const size of edges) {
      await storage.create(`b1/${size}`, body.subarray(0, size), never)
      for (const [start, length] of [
        [0, size],
        [Math.max(0, size - 1), Math.min(1, size)],
        [Math.floor(size / 2), Math.ceil(size / 2)],
      ] as const) {
        const range = await storage.readRange(`b1/${size}`, start, length, never)
        assert.ok(range.equals(body.subarray(start, start + length)), `${start} ${length} of ${size}`)
      }
      await assert.rejects(storage.readRange(`b1/${size}`, 0, size + 1, never), error =>
        hasCode(error, 'STORAGE_SHORT'),
      )
    }
  })

  test('read one after the other cost two requests more for an object, and none where it is read at once', async () => {
    const inner = openMemoryStorage()
    const calls: string[] = []
    const counted = withObservation(inner, ({ operation }) => calls.push(operation))
    const storage = withEncryption(counted, ownKeys([keyOf()]))
    await storage.create('b1/a', body, never)
    calls.length = 0
    await storage.readRange('b1/a', 0, body.length, never)
    assert.deepEqual(calls, ['readRange'])
    await storage.create('b1/b', body, never)
    calls.length = 0
    const step = 100_000
    for (let at = 0; at < body.length; at += step) {
      const length = Math.min(step, body.length - at)
      assert.ok((await storage.readRange('b1/b', at, length, never)).equals(body.subarray(at, at + length)))
    }
    const frames = countFrames(body.length)
    assert.deepEqual(calls.filter(call => call === 'stat').length, 1)
    assert.ok(calls.length <= frames + 2, `${calls.length} requests`)
  })
})

test('a writer makes the same object of any pieces', async () => {
  const inner = openMemoryStorage()
  const storage = withEncryption(inner, ownKeys([keyOf()]))
  const source = randomBytes(3 * FRAME_BYTES)
  for (const size of [...edges.filter(edge => edge <= source.length), 2.5 * FRAME_BYTES]) {
    const writer = await storage.openWriter(`b1/w${size}`, never)
    for (let at = 0; at < size; ) {
      const length = Math.min(size - at, 1 + Math.floor(Math.random() * FRAME_BYTES * 1.5))
      await writer.write([source.subarray(at, at + 1), source.subarray(at + 1, at + length)], never)
      at += length
    }
    await writer.commit(never)
    assert.equal(inner.objects.get(`b1/w${size}`)?.length, storedSizeOf(size))
    assert.ok((await storage.read(`b1/w${size}`, never)).equals(source.subarray(0, size)), String(size))
  }
})

test('ten thousand objects have ten thousand salts, and no two frames are the same', () => {
  const dataKey = newDataKey()
  const salts = new Set<string>()
  const frames = new Set<string>()
  for (let i = 0; i < 10_000; i++) {
    const sealed = sealObject(ObjectCipher.create(dataKey, 'b1/same'), Buffer.from('the same text'))
    salts.add(sealed.toString('hex', 32, 64))
    frames.add(sealed.toString('hex', HEADER_BYTES))
  }
  assert.equal(salts.size, 10_000)
  assert.equal(frames.size, 10_000)
})

test('an object opens only under its own key of the store, and only whole', () => {
  const dataKey = newDataKey()
  const cipher = ObjectCipher.create(dataKey, 'b1/a')
  const sealed = sealObject(cipher, randomBytes(2 * FRAME_BYTES + 5))
  assert.doesNotThrow(() => openObject(new ObjectCipher(cipher.header, dataKey, 'b1/a'), sealed))
  assert.throws(() => openObject(new ObjectCipher(cipher.header, dataKey, 'b1/b'), sealed), /b1\/b: frame 0/)
  assert.throws(() => openObject(new ObjectCipher(cipher.header, newDataKey(), 'b1/a'), sealed), /b1\/a: frame 0/)
})

/** What an object of so many plain bytes takes in the store. */
function storedSizeOf(plainSize: number): number {
  return HEADER_BYTES + plainSize + TAG_BYTES * countFrames(plainSize)
}

test('uses the memory of frames again once the store has taken them, and not while it may still read them', async () => {
  const handed: Uint8Array[] = []
  let failure: Error | undefined
  const write = async (chunks: readonly Uint8Array[]) => {
    handed.push(...chunks)
    if (failure) throw failure
  }
  const storage: Storage = {
    ...openMemoryStorage(),
    openWriter: async () => ({ write, commit: async () => undefined, abort: async () => undefined }),
  }
  const body = randomBytes(9 * FRAME_BYTES)
  const before = Buffer.from(body)
  const encrypted = withEncryption(storage, ownKeys([keyOf()]))
  const writeBody = async () => (await encrypted.openWriter('b1/a', never)).write([body], never)
  const memoryOfFrames = () =>
    new Set(handed.splice(0).flatMap(chunk => (chunk.length === FRAME_BYTES ? [chunk.buffer] : [])))

  await writeBody()
  const taken = memoryOfFrames()
  failure = new Error('disk full')
  await assert.rejects(writeBody(), failure)
  const unknown = memoryOfFrames()
  failure = undefined
  await writeBody()
  const later = memoryOfFrames()

  assert.ok(taken.size > 0 && unknown.size > 0 && later.size > 0)
  assert.ok(unknown.isSubsetOf(taken))
  assert.ok(later.isDisjointFrom(unknown))
  assert.deepEqual(body, before)
})

test('reads ranges whose memory the reader before has overwritten and given back', async () => {
  const body = randomBytes(6 * FRAME_BYTES + 1000)
  const storage = withEncryption(openMemoryStorage(), ownKeys([keyOf()]))
  await storage.create('b1/a', body, never)
  const step = FRAME_BYTES + 777
  for (let start = 0; start + 2 * step <= body.length; start += step) {
    for (const length of [100, FRAME_BYTES, 2 * step]) {
      const range = await storage.readRange('b1/a', start, length, never)
      assert.ok(range.equals(body.subarray(start, start + length)), `${length} bytes from ${start}`)
      range.fill(0xee)
      giveBackMemory(range)
    }
  }
})
