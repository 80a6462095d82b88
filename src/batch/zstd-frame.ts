const MAGIC = 0xfd2fb528
const BLOCK_HEADER_BYTES = 3
const MAX_BLOCK_BYTES = 128 << 10
const RAW = 0
const RLE = 1
const COMPRESSED = 2
export const ZSTD_BLOCK = {
  headerBytes: BLOCK_HEADER_BYTES,
  maxBytes: MAX_BLOCK_BYTES,
  raw: RAW,
  rle: RLE,
  compressed: COMPRESSED,
} as const

export interface ZstdFrame {
  /** What the decoder must remember of the plain bytes. */
  windowBytes: number
  /** At least as many as the frame can hold. */
  maxPlainBytes: number
}

/**
 * What the structure of a frame says, read without decoding it:
 *
 *   magic UINT32 LE, descriptor UINT8, window UINT8 (unless a single segment), dictionary, plain size; then blocks, each a
 *   header of 3 bytes (last 1 bit, type 2 bits, size 21 bits) and its bytes (one where the type is RLE); checksum UINT32
 *
 * Undefined where the bytes are not one complete frame without a dictionary, with nothing behind it.
 */
export function readZstdFrame(bytes: Buffer): ZstdFrame | undefined {
  const first = readFirst(bytes)
  return first?.end === bytes.length ? first.frame : undefined
}

const SKIPPABLE_MAGIC = 0x184d2a5
const SKIPPABLE_HEADER_BYTES = 8

/**
 * The frames of bytes that hold several, one behind the other: clients read them as one, and the runtime stops silently behind the
 * first one. Undefined for a single frame, and for what is not made of complete frames.
 */
export function splitZstdFrames(bytes: Buffer): Buffer[] | undefined {
  const frames: Buffer[] = []
  let position = 0
  while (position < bytes.length) {
    const rest = bytes.subarray(position)
    const skipped = skippableBytes(rest)
    const end = skipped ?? readFirst(rest)?.end
    if (end === undefined || end > rest.length || end === bytes.length) return undefined
    if (skipped === undefined) frames.push(rest.subarray(0, end))
    position += end
  }
  return frames
}

/** A frame that decoders pass over. */
function skippableBytes(bytes: Buffer): number | undefined {
  if (bytes.length < SKIPPABLE_HEADER_BYTES || bytes.readUInt32LE(0) >>> 4 !== SKIPPABLE_MAGIC) return undefined
  return SKIPPABLE_HEADER_BYTES + bytes.readUInt32LE(4)
}

interface FirstFrame {
  frame: ZstdFrame
  end: number
  blocksAt: number
  count: number
  hasChecksum: boolean
}

function readFirst(bytes: Buffer): FirstFrame | undefined {
  if (bytes.length < 6 || bytes.readUInt32LE(0) !== MAGIC) return undefined
  const descriptor = bytes.readUInt8(4)
  const isSingleSegment = (descriptor & 0x20) !== 0
  const sizeFlag = descriptor >> 6
  const sizeBytes = sizeFlag === 0 ? Number(isSingleSegment) : 1 << sizeFlag
  const hasDictionary = (descriptor & 0x03) !== 0
  const isReserved = (descriptor & 0x08) !== 0
  const start = 5 + (isSingleSegment ? 0 : 1) + sizeBytes
  if (hasDictionary || isReserved || start > bytes.length) return undefined
  const blocks = walkBlocks(bytes, start)
  if (!blocks) return undefined
  // A single segment is its own window: all that it holds.
  const windowBytes = isSingleSegment ? plainSizeAt(bytes, 5, sizeBytes) : windowOf(bytes.readUInt8(5))
  const mostOfBlocks = blocks.count * Math.min(MAX_BLOCK_BYTES, windowBytes)
  const maxPlainBytes = isSingleSegment ? Math.min(mostOfBlocks, windowBytes) : mostOfBlocks
  const frame = { windowBytes, maxPlainBytes }
  const hasChecksum = (descriptor & 0x04) !== 0
  return { frame, end: blocks.end + (hasChecksum ? 4 : 0), blocksAt: start, count: blocks.count, hasChecksum }
}

function windowOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3))
  return base + (base / 8) * (descriptor & 0x07)
}

function plainSizeAt(bytes: Buffer, position: number, sizeBytes: number): number {
  if (sizeBytes === 8) return Number(bytes.readBigUInt64LE(position))
  return bytes.readUIntLE(position, sizeBytes) + (sizeBytes === 2 ? 256 : 0)
}

export interface ZstdBlock {
  headerAt: number
  /** Of its content. */
  start: number
  end: number
  type: number
  /** What it holds, where it is not compressed. */
  plainBytes: number
}

/** Undefined where `readZstdFrame` is, and where the frame ends with a checksum of what it holds. */
export function readZstdBlocks(bytes: Buffer): ZstdBlock[] | undefined {
  const first = readFirst(bytes)
  if (first?.end !== bytes.length || first.hasChecksum) return undefined
  const blocks: ZstdBlock[] = []
  let headerAt = first.blocksAt
  for (let i = 0; i < first.count; i++) {
    const header = bytes.readUIntLE(headerAt, BLOCK_HEADER_BYTES)
    const [type, plainBytes, start] = [(header >> 1) & 0x03, header >> 3, headerAt + BLOCK_HEADER_BYTES]
    const end = start + (type === RLE ? 1 : plainBytes)
    blocks.push({ headerAt, start, end, type, plainBytes })
    headerAt = end
  }
  return blocks
}

/** Magic, descriptor (4 bytes of size 0x80, single segment 0x20), plain size UINT32 LE. */
const SIZED_HEADER_BYTES = 9
const SIZED_DESCRIPTOR = 0xa0

/**
 * The blocks of a frame behind a header that says how many bytes they hold, in `room` where they fit. A decoder that knows it writes straight to
 * its result, and not by way of a window. Undefined where `readZstdBlocks` is.
 */
export function withPlainSize(frame: Buffer, plainBytes: number, room: Buffer): Buffer | undefined {
  const [block] = readZstdBlocks(frame) ?? []
  if (!block) return undefined
  const size = SIZED_HEADER_BYTES + frame.length - block.headerAt
  const sized = size <= room.length ? room.subarray(0, size) : Buffer.allocUnsafeSlow(size)
  frame.copy(sized, writeSizedHeader(sized, plainBytes), block.headerAt)
  return sized
}

/** Returns where it ends. */
export function writeSizedHeader(frame: Buffer, plainBytes: number): number {
  frame.writeUInt32LE(MAGIC, 0)
  frame.writeUInt8(SIZED_DESCRIPTOR, 4)
  return frame.writeUInt32LE(plainBytes, 5)
}

function walkBlocks(bytes: Buffer, start: number): { count: number; end: number } | undefined {
  let position = start
  for (let count = 1; position + BLOCK_HEADER_BYTES <= bytes.length; count++) {
    const header = bytes.readUIntLE(position, BLOCK_HEADER_BYTES)
    const type = (header >> 1) & 0x03
    if (type !== RAW && type !== RLE && type !== COMPRESSED) return undefined
    const size = header >> 3
    if (size > MAX_BLOCK_BYTES) return undefined
    position += BLOCK_HEADER_BYTES + (type === RLE ? 1 : size)
    if ((header & 1) === 1) return { count, end: position }
  }
  return undefined
}
