import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { ZstdDecoders } from '../../src/batch/zstd-decoders.ts'
import { ZstdEncoders } from '../../src/batch/zstd-encoders.ts'
import { readZstdFrame, withPlainSize } from '../../src/batch/zstd-frame.ts'
import { ZstdReader } from '../../src/batch/zstd-reader.ts'
import { ZstdWriter } from '../../src/batch/zstd-writer.ts'
import { giveBackMemory, shareMemory } from '../../src/lib/recycled-memory.ts'
import { createRandom } from '../fakes/faulty-storage.ts'

const random = createRandom(20_261_117)
const pick = (below: number) => Math.floor(random() * below)

/** Text that compresses, bytes that do not, and long runs of the same byte. */
function somePlain(maxBytes: number): Buffer {
  const plain = Buffer.alloc(pick(maxBytes))
  for (let at = 0; at < plain.length; ) {
    const length = Math.min(plain.length - at, 1 + pick(20_000))
    const kind = pick(3)
    for (let i = at; i < at + length; i++) plain[i] = kind === 0 ? pick(256) : kind === 1 ? 97 + (i % 17) : 7
    at += length
  }
  return plain
}

function someFrame(plain: Buffer): Buffer {
  const hasSize = random() < 0.5
  const params = {
    [constants.ZSTD_c_compressionLevel]: 1 + pick(4),
    [constants.ZSTD_c_checksumFlag]: pick(2),
    [constants.ZSTD_c_contentSizeFlag]: Number(hasSize),
    ...(random() < 0.3 && { [constants.ZSTD_c_windowLog]: 10 + pick(8) }),
  }
  return zstdCompressSync(plain, { params, ...(hasSize && { pledgedSrcSize: plain.length }) })
}

/** A frame of blocks that each repeat one byte, of which one in four bytes of input becomes 128 KiB. */
function runs(blocks: number): Buffer {
  const header = Buffer.from('28b52ffd0058', 'hex')
  const block = (isLast: boolean) => {
    const bytes = Buffer.alloc(4, 0x61)
    bytes.writeUIntLE(((128 << 10) << 3) | (1 << 1) | Number(isLast), 0, 3)
    return bytes
  }
  return Buffer.concat([header, ...Array.from({ length: blocks }, (_, i) => block(i === blocks - 1))])
}

const known = Buffer.from('a record that is not changed')

/** What the reader makes of bytes, after which it must be as good as new. */
function readThen(reader: ZstdReader, bytes: Buffer): Buffer | undefined {
  const plain = reader.read(bytes)
  const copy = plain && Buffer.from(plain)
  assert.deepEqual(reader.read(zstdCompressSync(known)), known)
  return copy
}

describe('a decoder that is used for many frames', () => {
  test('unpacks what the runtime unpacks, whatever the size, level and header', () => {
    const reader = new ZstdReader()
    for (let i = 0; i < 300; i++) {
      const plain = somePlain(i % 20 === 0 ? 2_000_000 : 60_000)
      assert.ok(reader.read(someFrame(plain))?.equals(plain), `frame ${i} of ${plain.length} bytes`)
    }
    assert.deepEqual(reader.read(zstdCompressSync(Buffer.alloc(0))), Buffer.alloc(0))
  })

  test('leaves frames that are cut off to the runtime, and takes the next one for what it is', () => {
    const reader = new ZstdReader()
    const frame = someFrame(somePlain(3000))
    for (let length = 0; length < frame.length; length++) {
      assert.equal(readThen(reader, frame.subarray(0, length)), undefined, `cut at ${length} of ${frame.length}`)
    }
  })

  test('never differs from the runtime where bytes are changed', () => {
    const reader = new ZstdReader()
    let unpacked = 0
    for (let i = 0; i < 2000; i++) {
      const frame = Buffer.from(someFrame(somePlain(4000)))
      for (let flips = 1 + pick(3); flips > 0; flips--) frame[pick(frame.length)] = pick(256)
      const plain = readThen(reader, frame)
      if (!plain) continue
      unpacked++
      assert.ok(plain.equals(zstdDecompressSync(frame)), `frame ${i}`)
    }
    assert.ok(unpacked > 50, `${unpacked} were still frames`)
  })

  test('leaves to the runtime what is followed by more, skipped, or made with a dictionary', () => {
    const reader = new ZstdReader()
    const frame = zstdCompressSync(known)
    const skippable = Buffer.from('502a4d180100000000', 'hex')
    const withDictionary = Buffer.from(frame)
    withDictionary[4] = (withDictionary[4] ?? 0) | 1
    for (const bytes of [Buffer.concat([frame, frame]), Buffer.concat([skippable, frame]), skippable, withDictionary]) {
      assert.equal(readThen(reader, bytes), undefined)
    }
  })

  test('keeps no memory for what a frame claims', () => {
    const reader = new ZstdReader()
    assert.equal(readThen(reader, runs(16))?.length, 2 << 20)
    assert.equal(readThen(reader, runs(129)), undefined, '129 blocks may hold more than 16 MiB')
    const wide = runs(1)
    // A window of 128 MiB, for which the decoder would allocate as much.
    wide[5] = 17 << 3
    assert.equal(readThen(reader, wide), undefined)
    assert.equal(zstdDecompressSync(wide).length, 128 << 10, 'the runtime takes it')
  })
})

describe('a frame behind a header with the plain size', () => {
  const room = Buffer.alloc(20_000)

  test('holds the same, and nothing with another size', () => {
    const reader = new ZstdReader()
    let sized = 0
    for (let i = 0; i < 300; i++) {
      const plain = somePlain(i % 20 === 0 ? 2_000_000 : 60_000)
      const frame = someFrame(plain)
      const withSize = withPlainSize(frame, plain.length, room)
      if (!withSize) continue
      sized++
      assert.ok(readThen(reader, withSize)?.equals(plain), `frame ${i} of ${plain.length} bytes`)
      const other = withPlainSize(frame, plain.length + 1, room)
      assert.ok(other)
      assert.throws(() => zstdDecompressSync(other))
      assert.equal(readThen(reader, other), undefined)
    }
    assert.ok(sized > 100, `${sized} frames have no checksum`)
  })

  test('is made of complete frames without a checksum only', () => {
    const plain = somePlain(60_000)
    const checked = zstdCompressSync(plain, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
    assert.equal(withPlainSize(checked, plain.length, room), undefined)
    const frame = zstdCompressSync(plain)
    assert.equal(withPlainSize(frame.subarray(0, -1), plain.length, room), undefined)
    assert.ok(withPlainSize(frame, plain.length, room))
  })
})

describe('an encoder that is used for many batches', () => {
  test('packs what the runtime and a decoder unpack again, whatever the size', () => {
    const [writer, reader] = [new ZstdWriter(), new ZstdReader()]
    for (let i = 0; i < 200; i++) {
      const plain = i === 0 ? Buffer.alloc(0) : somePlain(i % 20 === 0 ? 3_000_000 : 60_000)
      const packed = writer.write(plain)
      assert.ok(packed && readZstdFrame(packed), `batch ${i} of ${plain.length} bytes`)
      assert.ok(zstdDecompressSync(packed).equals(plain))
      assert.ok(reader.read(packed)?.equals(plain))
    }
  })

  test('leaves large batches to the runtime, and takes the next one for what it is', () => {
    const writer = new ZstdWriter()
    assert.equal(writer.write(Buffer.alloc((16 << 20) + 1)), undefined)
    const packed = writer.write(known)
    assert.ok(packed)
    assert.deepEqual(zstdDecompressSync(packed), known)
  })
})

describe('encoders on other threads', () => {
  const encoders = new ZstdEncoders({ [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 17 })

  test('pack each of many pieces as one frame that unpacks to it, several at a time', async () => {
    const pieces = Array.from({ length: 60 }, (_, i) => somePlain(i % 5 === 0 ? 2_000_000 : 100_000))
    const again = pieces.map(piece => Buffer.from(piece))
    for (let at = 0; at < pieces.length; at += 6) {
      const some = pieces.slice(at, at + 6)
      const frames = await Promise.all(some.map(piece => encoders.compress(piece)))
      for (const [i, frame] of frames.entries()) {
        assert.ok(frame && readZstdFrame(frame))
        assert.ok(zstdDecompressSync(frame).equals(some[i] ?? known))
      }
      assert.equal(new Set(frames.map(frame => frame?.buffer)).size, some.length)
    }
    assert.deepEqual(pieces, again)
  })

  test('make the same frame of the same piece, whatever they packed before', async () => {
    const piece = somePlain(2_000_000)
    const first = await encoders.compress(piece)
    await Promise.all(Array.from({ length: 8 }, () => encoders.compress(somePlain(500_000))))
    assert.ok(first && (await encoders.compress(piece))?.equals(first))
  })

  test('pack bytes that do not compress up to the largest piece, and leave larger ones to the runtime', async () => {
    const noise = randomBytes((2 << 20) + 1)
    const frame = await encoders.compress(noise.subarray(1))
    assert.ok(frame && zstdDecompressSync(frame).equals(noise.subarray(1)))
    assert.equal(await encoders.compress(noise), undefined)
  })
})

describe('decoders on other threads', () => {
  const large = randomBytes(150_000)
  const packed = zstdCompressSync(large)

  /** What they make of bytes, after which they must be as good as new. */
  async function decompressThen(decoders: ZstdDecoders, bytes: Buffer, plainBytes: number) {
    const plain = await decoders.decompress(bytes, plainBytes)
    assert.ok((await decoders.decompress(packed, large.length))?.equals(large))
    return plain
  }

  test('unpack each of many frames, several at a time, each into memory that nothing else uses', async () => {
    const decoders = new ZstdDecoders()
    for (let round = 0; round < 4; round++) {
      const pieces = Array.from({ length: 6 }, (_, i) =>
        Buffer.concat([large, somePlain(i === 0 ? 2_000_000 : 100_000)]),
      )
      const unpacked = await Promise.all(pieces.map(piece => decoders.decompress(someFrame(piece), piece.length)))
      const found = unpacked.filter(plain => plain !== undefined)
      for (const [i, plain] of unpacked.entries()) assert.ok(plain?.equals(pieces[i] ?? known) ?? true, `frame ${i}`)
      assert.ok(found.length > 3, 'a small window makes many small blocks, which may be left to the runtime')
      assert.equal(new Set(found.map(plain => plain.buffer)).size, found.length)
      for (const plain of found) giveBackMemory(plain)
    }
  })

  test('unpack frame after frame into the same memory where it is given back', async () => {
    const decoders = new ZstdDecoders()
    const used = new Set<ArrayBufferLike>()
    for (let i = 0; i < 20; i++) {
      const piece = Buffer.concat([large, large, Buffer.alloc(900_000 + i)])
      const plain = await decoders.decompress(zstdCompressSync(piece), piece.length)
      assert.ok(plain)
      assert.ok(plain.equals(piece))
      used.add(plain.buffer)
      giveBackMemory(plain)
    }
    assert.equal(used.size, 1)
  })

  test('unpack into memory that other threads can read while someone shares it', async () => {
    const endSharing = shareMemory()
    const piece = Buffer.concat([large, large])
    const plain = await new ZstdDecoders().decompress(zstdCompressSync(piece), piece.length)
    endSharing()
    assert.ok(plain?.buffer instanceof SharedArrayBuffer)
    assert.ok(plain.equals(piece))
  })

  test('leave small, cut-off and several frames and other sizes to the runtime, and take the next one for what it is', async () => {
    const decoders = new ZstdDecoders()
    for (const bytes of [packed.subarray(0, -1), Buffer.alloc(0), Buffer.concat([packed, packed])])
      assert.equal(await decompressThen(decoders, bytes, large.length), undefined)
    for (const plainBytes of [0, 1, 131_072, large.length - 1, large.length + 1, 2 * large.length])
      assert.equal(await decompressThen(decoders, packed, plainBytes), undefined, `${plainBytes} bytes are expected`)
    assert.equal(await decompressThen(decoders, runs(16), 1 << 20), undefined, 'it unpacks to twice as much')
    assert.equal(await decompressThen(decoders, runs(16), 200_000), undefined, 'it may hold far more')
    assert.equal(
      await decompressThen(decoders, runs(129), 129 << 17),
      undefined,
      '129 blocks may hold more than 16 MiB',
    )
  })

  test('never differ from the runtime where bytes are changed', async () => {
    const decoders = new ZstdDecoders()
    const plain = Buffer.concat([large, Buffer.alloc(200_000, 'some text ')])
    const frame = zstdCompressSync(plain)
    let unpacked = 0
    for (let i = 0; i < 300; i++) {
      const changed = Buffer.from(frame)
      changed[i < 30 ? i : pick(changed.length)] = pick(256)
      const result = await decompressThen(decoders, changed, plain.length)
      if (!result) continue
      unpacked++
      assert.ok(result.equals(zstdDecompressSync(changed)), `frame ${i}`)
      giveBackMemory(result)
    }
    assert.ok(unpacked > 10, `${unpacked} were still frames`)
  })
})
