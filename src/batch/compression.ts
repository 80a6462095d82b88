import { createRequire } from 'node:module'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { Codec } from './header.ts'

/** The native codecs are loaded when a batch needs them: most runs never open one. */
const load = createRequire(import.meta.url)
const lz4 = (): typeof import('lz4-napi') => load('lz4-napi')
const snappy = (): typeof import('snappy') => load('snappy')

/** The plain bytes of a batch's records. Throws what the codec throws; the caller knows which batch it was. */
export function decompress(codec: Codec, bytes: Buffer): Buffer {
  switch (codec) {
    case 'none':
      return bytes
    case 'gzip':
      return gunzipSync(bytes)
    case 'snappy':
      return decompressSnappy(bytes)
    case 'lz4':
      return lz4().decompressFrameSync(bytes)
    case 'zstd':
      return zstdDecompressSync(bytes)
    default:
      return codec satisfies never
  }
}

const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])

/**
 * Java clients write xerial framing: an 8-byte magic, two INT32 versions, then blocks of INT32 length and raw snappy.
 * Others (franz-go, librdkafka by option) write one raw snappy block.
 */
function decompressSnappy(bytes: Buffer): Buffer {
  if (!bytes.subarray(0, 8).equals(XERIAL_MAGIC)) return snappyBlock(bytes)
  const blocks: Buffer[] = []
  let position = 16
  while (position < bytes.length) {
    const length = bytes.readInt32BE(position)
    blocks.push(snappyBlock(bytes.subarray(position + 4, position + 4 + length)))
    position += 4 + length
  }
  return Buffer.concat(blocks)
}

function snappyBlock(bytes: Buffer): Buffer {
  return Buffer.from(snappy().uncompressSync(bytes, { asBuffer: true }))
}
