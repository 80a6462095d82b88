import { promisify } from 'node:util'
import { gunzip, gunzipSync, gzipSync, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib'
import { KafkaBackupError } from '../errors.ts'
import { type BatchHeader, type Codec, codecOf, HEADER_BYTES } from './header.ts'
import { compressLz4, decompressLz4 } from './lz4.ts'
import { compressSnappy, decompressSnappy } from './snappy.ts'
import { splitZstdFrames } from './zstd-frame.ts'
import { ZstdReader } from './zstd-reader.ts'
import { QUICK_ZSTD } from './zstd-writer.ts'

/** Brokers take requests of 100 MiB unless told otherwise. A hostile producer can make 32 GB out of one megabyte. */
const MAX_PLAIN_BYTES = 256 << 20

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
      return unpackZstd(bytes, maxBytes)
    default:
      return codec satisfies never
  }
}

const gunzipAside = promisify(gunzip)
const zstdAside = promisify(zstdDecompress)

/** On another thread if the codec supports it; the others are fast. */
async function decompressAside(codec: Codec, bytes: Buffer, maxBytes = MAX_PLAIN_BYTES): Promise<Buffer> {
  const isQuick = codec !== 'gzip' && codec !== 'zstd'
  if (isQuick || (codec === 'zstd' && splitZstdFrames(bytes))) return decompress(codec, bytes, maxBytes)
  const plain = await (codec === 'gzip' ? gunzipAside : zstdAside)(bytes, roomFor(bytes, maxBytes))
  lastRatio = plain.length / bytes.length
  return plain
}

function unpackZstd(bytes: Buffer, maxBytes: number): Buffer {
  const frames = splitZstdFrames(bytes)
  if (!frames) return unpack(bytes, maxBytes, zstdDecompressSync)
  let room = maxBytes
  const plain = frames.map(frame => {
    const some = unpack(frame, Math.max(room, 1), zstdDecompressSync)
    room -= some.length
    return some
  })
  return Buffer.concat(plain)
}

type Unpack = (bytes: Buffer, options: { maxOutputLength: number; chunkSize: number }) => Buffer

function unpack(bytes: Buffer, maxBytes: number, run: Unpack): Buffer {
  const plain = run(bytes, roomFor(bytes, maxBytes))
  lastRatio = plain.length / bytes.length
  return plain
}

/** Memory that all is likely to fit into: many small pieces, and joining them, cost more than unpacking. */
function roomFor({ length }: Buffer, maxOutputLength: number): { maxOutputLength: number; chunkSize: number } {
  const likelyBytes = Math.ceil(length * lastRatio * 1.1)
  return { maxOutputLength, chunkSize: Math.min(Math.max(likelyBytes, MIN_CHUNK_BYTES), MAX_CHUNK_BYTES) }
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

/**
 * The same for many batches, as quick as it can be. What the result is likely to take is made room for at once: the
 * runtime goes back and forth for every piece of it.
 */
export function compressQuickly(codec: Codec, plain: Buffer, likelyBytes = plain.length): Buffer {
  if (codec !== 'gzip' && codec !== 'zstd') return compress(codec, plain)
  const chunkSize = Math.min(Math.max(Math.ceil(likelyBytes * 1.25), MIN_CHUNK_BYTES), MAX_CHUNK_BYTES)
  if (codec === 'gzip') return gzipSync(plain, { chunkSize })
  // Where the size is known from the beginning, less memory is allocated, and the reader gets the size.
  return zstdCompressSync(plain, { chunkSize, pledgedSrcSize: plain.length, params: QUICK_ZSTD })
}

/** The plain bytes of the batch's records; without compression they are a view, not a copy. */
export function openBody(bytes: Buffer, header: BatchHeader, maxBytes?: number): Buffer {
  const codec = knownCodec(header)
  try {
    return decompress(codec, bodyOf(bytes, header), maxBytes)
  } catch (cause) {
    throw undecodable(header, cause)
  }
}

/** Asynchronous, on another thread. */
export async function openBodyAside(bytes: Buffer, header: BatchHeader, maxBytes?: number): Promise<Buffer> {
  try {
    return await decompressAside(knownCodec(header), bodyOf(bytes, header), maxBytes)
  } catch (cause) {
    throw undecodable(header, cause)
  }
}

/** Of this thread. */
const zstd = new ZstdReader()

/**
 * The plain bytes of the records of a usual zstd batch, valid until the next call; the caller may change them. Undefined for all others,
 * which `openBody` opens, or says what is wrong with them.
 */
export function openBodyBriefly(bytes: Buffer, header: BatchHeader): Buffer | undefined {
  return knownCodec(header) === 'zstd' ? zstd.read(bodyOf(bytes, header)) : undefined
}

/** As it is stored. */
export function bodyOf(bytes: Buffer, { position, sizeBytes }: BatchHeader): Buffer {
  return bytes.subarray(position + HEADER_BYTES, position + sizeBytes)
}

export function knownCodec(header: BatchHeader): Codec {
  const codec = codecOf(header.attributes)
  if (codec !== undefined) return codec
  throw new KafkaBackupError('BATCH_INVALID', `the batch at offset ${header.baseOffset} has an unknown compression`)
}

export function undecodable(header: BatchHeader, cause: unknown): KafkaBackupError {
  const what = `the batch at offset ${header.baseOffset} (${codecOf(header.attributes)}) cannot be decoded`
  return new KafkaBackupError('BATCH_INVALID', `${what}: ${cause instanceof Error ? cause.message : String(cause)}`, {
    cause,
  })
}

export interface SourceBatch {
  bytes: Buffer
  header: BatchHeader
}
