import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { compressSync } from 'snappy'
import { decompress, openBody, openBodyAside } from '../../src/batch/compression.ts'
import { codecNames, readHeader } from '../../src/batch/header.ts'
import { compress, encodeBatch, encodeRecord } from '../fakes/batches.ts'

const plain = Buffer.from('the quick brown fox jumps over the lazy dog. '.repeat(5000))

for (const codec of codecNames) {
  test(`what was compressed with ${codec} comes back`, () => {
    assert.ok(decompress(codec, compress(codec, plain)).equals(plain))
    assert.equal(decompress(codec, compress(codec, Buffer.alloc(0))).length, 0)
  })
}

describe('snappy', () => {
  test('in the framing of Java clients may have many blocks', () => {
    const framed = xerial([plain.subarray(0, 32768), plain.subarray(32768, 32769), plain.subarray(32769)])
    assert.ok(decompress('snappy', framed).equals(plain))
    assert.equal(decompress('snappy', xerial([])).length, 0)
  })

  test('framing that is cut off, or whose block lengths are nonsense, is refused and never walks in circles', () => {
    const framed = xerial([Buffer.from('one'), Buffer.from('two')])
    for (let length = 1; length < framed.length; length++) {
      // Between two blocks the cut cannot be seen here; the records that are missing tell.
      if (length === 16 || length === 16 + 4 + compressSync('one').length) continue
      assert.throws(() => decompress('snappy', framed.subarray(0, length)), `cut at ${length}`)
    }
    for (const length of [-1, -4, -20, -30, -2147483648, 2147483647, 1000]) {
      const broken = Buffer.from(framed)
      broken.writeInt32BE(length, 16)
      assert.throws(() => decompress('snappy', broken), `block length ${length}`)
    }
  })

  test('a block that claims more than snappy could ever hold is refused before there is room made for it', () => {
    const claims4GiB = Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0x61])
    assert.throws(() => decompress('snappy', claims4GiB), /claims/)
    const mostlyCopies = Buffer.from(compressSync(Buffer.alloc(1 << 20)))
    assert.equal(decompress('snappy', mostlyCopies).length, 1 << 20, 'the best ratio there is')
  })
})

describe('lz4', () => {
  test('a frame of several blocks, compressed and not, comes back whole', () => {
    const frame = Buffer.concat([
      Buffer.from('04224d186040', 'hex'),
      Buffer.from([0x82]),
      storedBlock(Buffer.from('first ')),
      storedBlock(Buffer.from('second ')),
      // Literals "ab", then a match of 8 bytes two back, then the literals "third".
      block(Buffer.from([0x24, 0x61, 0x62, 0x02, 0x00, 0x50, ...Buffer.from('third')])),
      Buffer.alloc(4),
    ])
    assert.equal(decompress('lz4', frame).toString(), 'first second ababababab' + 'third')
  })

  test('a body without a frame is refused, not taken for an empty one', () => {
    assert.throws(() => decompress('lz4', Buffer.alloc(0)))
    assert.throws(() => decompress('lz4', Buffer.from('no frame')))
  })
})

describe('zstd', () => {
  const pack = (from: number, to?: number) => zstdCompressSync(plain.subarray(from, to))
  const skippable = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])

  test('frames one behind the other come back as one, as clients read them', async () => {
    const frames = Buffer.concat([pack(0, 10), skippable, pack(10, 10), pack(10, 200_000), pack(200_000), skippable])
    assert.ok(decompress('zstd', frames).equals(plain))
    assert.ok(decompress('zstd', Buffer.concat([skippable, pack(0)])).equals(plain))
    const body = Buffer.concat([zstdCompressSync(encodeRecord({ value: plain }, 0)), pack(0, 0)])
    const batch = encodeBatch({ codec: 'zstd', body, records: [{}] })
    const header = readHeader(batch, 0)
    assert.deepEqual(await openBodyAside(batch, header), openBody(batch, header))
  })

  test('several frames together stop at the limit', () => {
    const frames = Buffer.concat([pack(0, 1000), pack(1000, 2000), pack(2000, 3000)])
    assert.equal(decompress('zstd', frames, 3000).length, 3000)
    for (const limit of [1, 1000, 1999, 2000, 2999]) assert.throws(() => decompress('zstd', frames, limit))
  })
})

describe('a batch that would fill the memory', () => {
  for (const [codec, bomb] of [
    ['gzip', gzipSync(Buffer.alloc(1 << 20))],
    ['zstd', zstdCompressSync(Buffer.alloc(1 << 20))],
    ['snappy', Buffer.from(compressSync(Buffer.alloc(1 << 20)))],
    ['snappy', xerial([Buffer.alloc(1 << 19), Buffer.alloc(1 << 19)])],
    ['lz4', compress('lz4', Buffer.alloc(1 << 20))],
  ] as const) {
    test(`is refused beyond the limit, ${codec}`, () => {
      assert.equal(decompress(codec, bomb, 1 << 20).length, 1 << 20)
      assert.throws(() => decompress(codec, bomb, (1 << 20) - 1))
    })
  }

  test('zstd frames of repeated bytes stop at the limit, not at their end', () => {
    // A frame of run-length blocks: 4 bytes stand for 128 KiB, 4 KB for 128 MiB.
    const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38])
    const run = (last: boolean) => {
      const bytes = Buffer.alloc(4)
      bytes.writeUIntLE((last ? 1 : 0) | (1 << 1) | ((128 << 10) << 3), 0, 3)
      return bytes
    }
    const bomb = Buffer.concat([header, ...Array.from({ length: 1023 }, () => run(false)), run(true)])
    const before = process.memoryUsage().rss
    assert.throws(() => decompress('zstd', bomb, 1 << 20))
    assert.ok(process.memoryUsage().rss - before < 64 << 20)
    assert.equal(decompress('zstd', bomb).length, 128 << 20)
  })
})

function xerial(blocks: readonly Buffer[]): Buffer {
  const head = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1])
  return Buffer.concat([
    head,
    ...blocks.flatMap(plain => {
      const bytes = Buffer.from(compressSync(plain))
      const length = Buffer.alloc(4)
      length.writeInt32BE(bytes.length)
      return [length, bytes]
    }),
  ])
}

function block(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  return Buffer.concat([length, bytes])
}

function storedBlock(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE((bytes.length | 0x80000000) >>> 0)
  return Buffer.concat([length, bytes])
}
