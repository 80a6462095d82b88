import { createRequire } from 'node:module'

/** Loaded when a batch needs it, since most runs never open one; and kept, since looking it up takes longer than its work. */
let loaded: typeof import('lz4-napi') | undefined
function lz4(): typeof import('lz4-napi') {
  loaded ??= createRequire(import.meta.url)('lz4-napi') as typeof import('lz4-napi')
  return loaded
}

const MAGIC = 0x184d2204
/** Magic, version 01 with independent blocks and no checksums, blocks of up to 64 KiB, and the checksum of these two. */
const FRAME_HEADER = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82])
const BLOCK_BYTES = 64 << 10
/** Set in the length of a block that holds its bytes as they are. */
const STORED = 0x80000000

/** The frame that Java clients write. Their reader knows no blocks that depend on each other and no dictionary. */
export function compressLz4(plain: Buffer): Buffer {
  const parts: Buffer[] = [FRAME_HEADER]
  for (let start = 0; start < plain.length; start += BLOCK_BYTES) {
    const block = plain.subarray(start, start + BLOCK_BYTES)
    // The library puts the plain length, four bytes, in front of a block.
    const squeezed = lz4().compressSync(block).subarray(4)
    const isSmaller = squeezed.length < block.length
    parts.push(uint32(isSmaller ? squeezed.length : block.length + STORED), isSmaller ? squeezed : block)
  }
  return Buffer.concat([...parts, uint32(0)])
}

/** The decoder treats invalid frames as empty, and has no limit. */
export function decompressLz4(bytes: Buffer, maxBytes: number): Buffer {
  if (bytes.length < 4 || bytes.readUInt32LE(0) !== MAGIC) throw new RangeError('there is no lz4 frame')
  const claimed = plainLz4Bytes(bytes, maxBytes)
  if (claimed > maxBytes) throw new RangeError(`an lz4 frame holds ${claimed} plain bytes or more`)
  return lz4().decompressFrameSync(bytes)
}

/** One block with its plain length, four bytes, in front. */
export function decompressLz4Block(bytes: Buffer, maxBytes: number): Buffer {
  const claimed = bytes.length < 4 ? Number.POSITIVE_INFINITY : bytes.readUInt32LE(0)
  if (claimed > maxBytes) throw new RangeError(`an lz4 block holds ${claimed} plain bytes`)
  return lz4().uncompressSync(bytes)
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32LE(value)
  return bytes
}

/**
 * An LZ4 frame: magic INT32, flags, block size, [content size INT64], [dictionary id INT32], header checksum, then
 * blocks of INT32 length and bytes, [block checksum INT32], up to a length of 0. All little-endian.
 *
 * A compressed block is a row of sequences: a token (two lengths of four bits), more bytes of the first length where it
 * is 15, that many literals, then, unless the block ends here, the INT16 distance of a match and more bytes of its length.
 */
const BLOCK_CHECKSUMS = 0x10
const CONTENT_SIZE = 0x08
const DICTIONARY = 0x01
/** No byte of a compressed block stands for more. */
const MAX_GROWTH = 255

/**
 * How many plain bytes a frame stands for at most, without decoding it. As long as the blocks cannot reach the limit this
 * is a bound of them; from there on their sequences are summed up. Counting ends where it is over the limit or where the
 * frame is cut off: then the decoder has its own to say.
 */
export function plainLz4Bytes(frame: Buffer, limitBytes: number): number {
  const flags = frame[4] ?? 0
  const blockBytes = maxBlockBytes(frame[5] ?? 0)
  let position = 7
  if (flags & CONTENT_SIZE) {
    if (frame.length < 14) return 0
    const size = Number(frame.readBigUInt64LE(6))
    if (size > limitBytes) return size
    position += 8
  }
  if (flags & DICTIONARY) position += 4
  const bound = sumBlocks(frame, position, Number.POSITIVE_INFINITY, (start, end) =>
    Math.min(blockBytes, (end - start) * MAX_GROWTH),
  )
  return bound <= limitBytes
    ? bound
    : sumBlocks(frame, position, limitBytes, (start, end) => sumSequences(frame, start, end))
}

/** 64 KiB, 256 KiB, 1 MiB or 4 MiB. */
function maxBlockBytes(descriptor: number): number {
  return 1 << (8 + 2 * ((descriptor >> 4) & 7))
}

function sumBlocks(
  frame: Buffer,
  start: number,
  limitBytes: number,
  plainBytes: (start: number, end: number) => number,
): number {
  const trailer = (frame[4] ?? 0) & BLOCK_CHECKSUMS ? 4 : 0
  let sum = 0
  for (let position = start; position + 4 <= frame.length && sum <= limitBytes; ) {
    const length = frame.readUInt32LE(position)
    if (length === 0) break
    const isStored = length >= STORED
    const blockStart = position + 4
    const blockEnd = blockStart + (isStored ? length - STORED : length)
    if (blockEnd > frame.length) break
    sum += isStored ? blockEnd - blockStart : plainBytes(blockStart, blockEnd)
    position = blockEnd + trailer
  }
  return sum
}

function sumSequences(frame: Buffer, start: number, end: number): number {
  let sum = 0
  let position = start
  const more = (nibble: number): number => {
    if (nibble < 15) return nibble
    let length = 15
    for (let byte = 255; byte === 255 && position < end; length += byte) byte = frame[position++] ?? 0
    return length
  }
  while (position < end) {
    const token = frame[position++] ?? 0
    const literals = more(token >> 4)
    sum += literals
    position += literals
    if (position >= end) break
    position += 2
    sum += more(token & 15) + 4
  }
  return sum
}
