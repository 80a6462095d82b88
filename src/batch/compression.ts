import { gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Codec } from './header.ts'
import { compressLz4, decompressLz4 } from './lz4.ts'
import { compressSnappy, decompressSnappy } from './snappy.ts'

/** No producer makes a batch of more; a hostile one can make 32 GB out of one megabyte. */
const MAX_PLAIN_BYTES = 1 << 30

const MIN_CHUNK_BYTES = 16 << 10
const MAX_CHUNK_BYTES = 4 << 20

/** The plain bytes of a batch's records. Throws what the codec throws; the caller knows which batch it was. */
export function decompress(codec: Codec, bytes: Buffer, maxBytes = MAX_PLAIN_BYTES): Buffer {
  switch (codec) {
    case 'none':
      return bytes
    case 'gzip':
      return gunzipSync(bytes, { maxOutputLength: maxBytes, chunkSize: likelyBytes(bytes) })
    case 'snappy':
      return decompressSnappy(bytes, maxBytes)
    case 'lz4':
      return decompressLz4(bytes, maxBytes)
    case 'zstd':
      return zstdDecompressSync(bytes, { maxOutputLength: maxBytes, chunkSize: likelyBytes(bytes) })
    default:
      return codec satisfies never
  }
}

/** A first piece of memory that all is likely to fit into: many small ones, and their joining, cost more than unpacking. */
function likelyBytes({ length }: Buffer): number {
  return Math.min(Math.max(length * 8, MIN_CHUNK_BYTES), MAX_CHUNK_BYTES)
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
