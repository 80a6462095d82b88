import { createRequire } from 'node:module'

/** Loaded when a batch needs it, since most runs never open one; and kept, since looking it up takes longer than its work. */
let loaded: typeof import('snappy') | undefined
function snappy(): typeof import('snappy') {
  loaded ??= createRequire(import.meta.url)('snappy') as typeof import('snappy')
  return loaded
}

/** The framing of Java clients: an 8-byte magic, two INT32 versions, then blocks of INT32 length and raw snappy. */
const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])
const XERIAL_HEADER = Buffer.concat([XERIAL_MAGIC, Buffer.from([0, 0, 0, 1, 0, 0, 0, 1])])
const BLOCK_BYTES = 32 << 10

/** In the framing of Java clients, which every client reads. */
export function compressSnappy(plain: Buffer): Buffer {
  const parts: Buffer[] = [XERIAL_HEADER]
  for (let start = 0; start < plain.length; start += BLOCK_BYTES) {
    const block = snappy().compressSync(plain.subarray(start, start + BLOCK_BYTES))
    const length = Buffer.allocUnsafe(4)
    length.writeInt32BE(block.length)
    parts.push(length, block)
  }
  return Buffer.concat(parts)
}

/** Others than Java clients (franz-go, librdkafka by option) write one raw snappy block. */
export function decompressSnappy(bytes: Buffer, maxBytes: number): Buffer {
  if (!bytes.subarray(0, 8).equals(XERIAL_MAGIC)) return snappyBlock(bytes, maxBytes)
  if (bytes.length < XERIAL_HEADER.length) throw new RangeError('the snappy framing ends inside its header')
  const blocks: Buffer[] = []
  let room = maxBytes
  for (let position = XERIAL_HEADER.length; position < bytes.length; ) {
    const length = bytes.readInt32BE(position)
    const start = position + 4
    if (length < 0 || start + length > bytes.length) throw new RangeError(`a snappy block claims ${length} bytes`)
    const block = snappyBlock(bytes.subarray(start, start + length), room)
    blocks.push(block)
    room -= block.length
    position = start + length
  }
  return Buffer.concat(blocks)
}

/** The decoder makes room for what a block claims before it looks at it; no 3 bytes stand for more than 64. */
function snappyBlock(bytes: Buffer, maxBytes: number): Buffer {
  const claimed = claimedLength(bytes)
  if (claimed > Math.min(maxBytes, bytes.length * 22)) {
    throw new RangeError(`a snappy block claims ${claimed} plain bytes`)
  }
  // V8 releases its own memory sooner than external memory.
  const plain = snappy().uncompressSync(bytes, { asBuffer: true, copyOutputData: true })
  return Buffer.isBuffer(plain) ? plain : Buffer.from(plain)
}

/** A block begins with its plain length, an unsigned integer of 7-bit groups. */
function claimedLength(bytes: Buffer): number {
  let length = 0
  for (let i = 0; i < 5; i++) {
    const byte = bytes[i] ?? 0
    length += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 0x80) break
  }
  return length
}
