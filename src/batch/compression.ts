import { createRequire } from 'node:module'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { Codec } from './header.ts'

/** The native codecs are loaded when a batch needs them: most runs never open one. */
const load = createRequire(import.meta.url)
const lz4 = (): typeof import('lz4-napi') => load('lz4-napi')
const snappy = (): typeof import('snappy') => load('snappy')

/** No producer makes a batch of more; a hostile one can make 32 GB out of one megabyte. */
const MAX_PLAIN_BYTES = 1 << 30

/** The plain bytes of a batch's records. Throws what the codec throws; the caller knows which batch it was. */
export function decompress(codec: Codec, bytes: Buffer, maxBytes = MAX_PLAIN_BYTES): Buffer {
  switch (codec) {
    case 'none':
      return bytes
    case 'gzip':
      return gunzipSync(bytes, { maxOutputLength: maxBytes })
    case 'snappy':
      return decompressSnappy(bytes, maxBytes)
    case 'lz4':
      return decompressLz4(bytes, maxBytes)
    case 'zstd':
      return zstdDecompressSync(bytes, { maxOutputLength: maxBytes })
    default:
      return codec satisfies never
  }
}

const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])
const XERIAL_HEADER_BYTES = 16
const LZ4_MAGIC = 0x184d2204

/**
 * Java clients write xerial framing: an 8-byte magic, two INT32 versions, then blocks of INT32 length and raw snappy.
 * Others (franz-go, librdkafka by option) write one raw snappy block.
 */
function decompressSnappy(bytes: Buffer, maxBytes: number): Buffer {
  if (!bytes.subarray(0, 8).equals(XERIAL_MAGIC)) return snappyBlock(bytes, maxBytes)
  if (bytes.length < XERIAL_HEADER_BYTES) throw new RangeError('the snappy framing ends inside its header')
  const blocks: Buffer[] = []
  let room = maxBytes
  for (let position = XERIAL_HEADER_BYTES; position < bytes.length; ) {
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
  return Buffer.from(snappy().uncompressSync(bytes, { asBuffer: true }))
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

/** The decoder takes what is no frame for an empty one. It has no limit of its own, but LZ4 grows 255-fold at most. */
function decompressLz4(bytes: Buffer, maxBytes: number): Buffer {
  if (bytes.length < 4 || bytes.readUInt32LE(0) !== LZ4_MAGIC) throw new RangeError('there is no lz4 frame')
  const plain = lz4().decompressFrameSync(bytes)
  if (plain.length > maxBytes) throw new RangeError(`an lz4 frame holds ${plain.length} plain bytes`)
  return plain
}
