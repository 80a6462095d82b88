import { gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Codec } from './header.ts'
import { compressLz4, decompressLz4 } from './lz4.ts'
import { compressSnappy, decompressSnappy } from './snappy.ts'

/** No producer makes a batch of more; a hostile one can make 32 GB out of one megabyte. */
const MAX_PLAIN_BYTES = 1 << 30

const MIN_CHUNK_BYTES = 16 << 10
const MAX_CHUNK_BYTES = 4 << 20
/** How many plain bytes a byte became the last time: batches of a topic are much alike. */
let lastRatio = 4

/** The plain bytes of a batch's records. Throws what the codec throws; the caller knows which batch it was. */
export function decompress(codec: Codec, bytes: Buffer, maxBytes = MAX_PLAIN_BYTES): Buffer {
  switch (codec) {
    case 'none':
      return bytes
    case 'gzip':
      return unpack(bytes, maxBytes, gunzipSync)
    case 'snappy':
      return decompressSnappy(bytes, maxBytes)
    case 'lz4':
      return decompressLz4(bytes, maxBytes)
    case 'zstd':
      return unpack(bytes, maxBytes, zstdDecompressSync)
    default:
      return codec satisfies never
  }
}

type Unpack = (bytes: Buffer, options: { maxOutputLength: number; chunkSize: number }) => Buffer

/** Into memory that all is likely to fit into: many small pieces, and joining them, cost more than unpacking. */
function unpack(bytes: Buffer, maxOutputLength: number, run: Unpack): Buffer {
  const likelyBytes = Math.ceil(bytes.length * lastRatio * 1.1)
  const chunkSize = Math.min(Math.max(likelyBytes, MIN_CHUNK_BYTES), MAX_CHUNK_BYTES)
  const plain = run(bytes, { maxOutputLength, chunkSize })
  lastRatio = plain.length / bytes.length
  return plain
}

/** The records of a batch as the Java client would write them, with the levels that are its defaults. */
export function compress(codec: Codec, plain: Buffer): Buffer {
  switch (codec) {
    case 'none':
      return plain
    case 'gzip':
      return gzipSync(plain)
    case 'snappy':
      return compressSnappy(plain)
    case 'lz4':
      return compressLz4(plain)
    case 'zstd':
      return zstdCompressSync(plain)
    default:
      return codec satisfies never
  }
}
