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
const STORED = 0x80000000
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
