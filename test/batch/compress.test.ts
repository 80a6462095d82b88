import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compressFrameSync, uncompressSync as uncompressLz4 } from 'lz4-napi'
import { uncompressSync } from 'snappy'
import { compress, compressQuickly, decompress } from '../../src/batch/compression.ts'
import { codecNames } from '../../src/batch/header.ts'
import { plainLz4Bytes } from '../../src/batch/lz4.ts'
import { createRandom } from '../fakes/faulty-storage.ts'

const random = createRandom(20_261)
const noise = (length: number) => Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)))
const text = (length: number) => Buffer.alloc(length, 'the quick brown fox jumps over the lazy dog. ')

const samples = [
  Buffer.alloc(0),
  Buffer.from('x'),
  text(32 << 10),
  text((32 << 10) + 1),
  text(64 << 10),
  text((64 << 10) + 1),
  text(1_000_000),
  noise(64 << 10),
  noise(70_000),
  Buffer.concat([noise(64 << 10), Buffer.alloc(300_000), noise(10)]),
]

for (const codec of codecNames) {
  test(`${codec}: what was compressed comes back, at and around the sizes of blocks`, () => {
    for (const plain of samples) assert.ok(decompress(codec, compress(codec, plain)).equals(plain), `${plain.length}`)
  })

  test(`${codec}: what repeats itself takes less room, noise hardly more`, () => {
    if (codec !== 'none') assert.ok(compress(codec, text(1_000_000)).length < 60_000)
    assert.ok(compress(codec, noise(70_000)).length < 70_200)
  })
}

test('the Java client writes the same bytes where only the framing matters', () => {
  assert.equal(compress('lz4', Buffer.from('hi')).toString('hex'), '04224d1860408202000080686900000000')
  assert.equal(
    compress('snappy', Buffer.from('hi')).toString('hex'),
    '82534e415050590000000001000000010000000402046869',
  )
})

test('snappy is cut into blocks of 32 KiB, each with its length', () => {
  const plain = text(100_000)
  const framed = compress('snappy', plain)
  const lengths: number[] = []
  for (let position = 16; position < framed.length; position += 4 + framed.readInt32BE(position)) {
    const block = framed.subarray(position + 4, position + 4 + framed.readInt32BE(position))
    lengths.push((uncompressSync(block, { asBuffer: true }) as Buffer).length)
  }
  assert.deepEqual(lengths, [32_768, 32_768, 32_768, 1696])
})

test('lz4 is cut into independent blocks of 64 KiB; one that does not get smaller is stored', () => {
  const plain = Buffer.concat([text(64 << 10), noise(64 << 10), text(9)])
  const frame = compress('lz4', plain)
  const flags = frame.readUInt8(4)
  assert.deepEqual([flags >> 6, (flags >> 5) & 1, flags & 0x1f], [1, 1, 0], 'version 01, independent, nothing else')
  const kinds: string[] = []
  let position = 7
  for (let rest = plain; frame.readUInt32LE(position) !== 0; rest = rest.subarray(64 << 10)) {
    const length = frame.readUInt32LE(position) & 0x7fffffff
    const isStored = frame.readUInt32LE(position) > 0x7fffffff
    const bytes = frame.subarray(position + 4, position + 4 + length)
    const expected = rest.subarray(0, 64 << 10)
    assert.ok((isStored ? bytes : blockAlone(bytes, expected.length)).equals(expected))
    kinds.push(isStored ? 'stored' : 'squeezed')
    position += 4 + length
  }
  assert.equal(position + 4, frame.length)
  assert.deepEqual(kinds, ['squeezed', 'stored', 'stored'])
})

describe('the plain bytes of an lz4 frame, counted without decoding it', () => {
  const big = Buffer.concat([text(1 << 20), noise(1000), Buffer.alloc(1 << 20)])

  test('are exact where the blocks could hold more than the limit', () => {
    for (const plain of [...samples, big]) {
      const options = [{}, { blockChecksums: true }, { contentChecksum: true }]
      for (const frame of [compress('lz4', plain), ...options.map(option => compressFrameSync(plain, option))]) {
        const bound = plainLz4Bytes(frame, 1 << 30)
        assert.ok(bound >= plain.length, `${bound} bounds ${plain.length}`)
        if (bound === plain.length) continue
        assert.equal(plainLz4Bytes(frame, bound - 1), plain.length)
        assert.equal(decompress('lz4', frame, Math.max(plain.length, 1)).length, plain.length)
      }
    }
  })

  test('refuse a frame before any of it is decoded', () => {
    // 1000 blocks of zeros, 4 MiB each out of 16 KiB.
    const one = compressFrameSync(Buffer.alloc(4 << 20))
    const block = one.subarray(7, -4)
    const bomb = Buffer.concat([one.subarray(0, 7), ...Array.from({ length: 1000 }, () => block), Buffer.alloc(4)])
    const before = process.memoryUsage().rss
    assert.throws(() => decompress('lz4', bomb), /lz4 frame holds \d{9} plain bytes or more/)
    assert.ok(process.memoryUsage().rss - before < 64 << 20)
  })

  test('refuse a frame by the size it states', () => {
    const stated = Buffer.alloc(19)
    Buffer.from('04224d186840', 'hex').copy(stated)
    stated.writeBigUInt64LE(2n ** 40n, 6)
    assert.throws(() => decompress('lz4', stated), /holds 1099511627776 plain bytes/)
  })

  test('end where the frame is cut off, anywhere', () => {
    const frame = compressFrameSync(big, { blockChecksums: true })
    for (let length = 4; length < frame.length; length += length < 40 ? 1 : 97) {
      assert.ok(plainLz4Bytes(frame.subarray(0, length), 0) <= big.length)
    }
  })
})

/** The raw block format of the library has the plain length in front. */
function blockAlone(bytes: Buffer, plainBytes: number): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(plainBytes)
  return uncompressLz4(Buffer.concat([length, bytes]))
}

test('packing quickly can be read again, whatever room is made for the result', () => {
  for (const plain of [text(300_000), noise(300_000), Buffer.from('x')]) {
    for (const codec of codecNames) {
      const [first, ...others] = [undefined, 1, 20_000].map(likelyBytes => compressQuickly(codec, plain, likelyBytes))
      assert.ok(first)
      assert.deepEqual(decompress(codec, first), plain, codec)
      for (const other of others) assert.deepEqual(other, first, codec)
    }
  }
})
