import { promisify } from 'node:util'
import { zstdDecompress, zstdDecompressSync } from 'node:zlib'
import { batchSizeAt, PREFIX_BYTES } from '../batch/header.ts'
import { ZstdDecoders } from '../batch/zstd-decoders.ts'
import { ZstdReader } from '../batch/zstd-reader.ts'
import { hasCode, type KafkaBackupError } from '../errors.ts'
import { ByteBudget } from '../lib/byte-budget.ts'
import { giveBackMemory, lendMemory } from '../lib/recycled-memory.ts'
import type { Storage } from '../storage/storage.ts'
import { damagedInside } from './damage.ts'
import { hashOf, openHasher, pieceHash } from './hash.ts'
import type { Segment } from './manifest.ts'
import { chunksOf } from './segment-chunks.ts'
import { MAX_FRAME_BYTES, QUICK_BYTES } from './segment-writer.ts'

const decompress = promisify(zstdDecompress)
/** A broker takes requests of 100 MiB unless told otherwise, and one request holds a batch as a whole. */
const MAX_BATCH_BYTES = 512 << 20
/** What does not compress grows by little. */
const MAX_STORED_FRAME_BYTES = MAX_FRAME_BYTES + (MAX_FRAME_BYTES >> 7)
/** Plain bytes of frames that all readers of the process hold at a time. Small frames never wait for it. */
const frameBudget = new ByteBudget(2 * MAX_FRAME_BYTES, 8 << 20)

/**
 * The segment's batches in pieces that hold whole batches only. Every stored byte is hashed on the way; when the last
 * piece has been taken and the hash is not the recorded one, this throws. A caller that must not act on damaged bytes
 * checks each batch's own checksum, too. The memory of a piece is the caller's, who may give it back (`lib/recycled-memory.ts`).
 */
export async function* readSegment(
  storage: Pick<Storage, 'readRange'>,
  segment: Segment,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const hasher = openHasher()
  let rest: Buffer = Buffer.alloc(0)
  let plainSize = 0
  for await (const { stored, plain } of readPieces(storage, segment, signal)) {
    hasher.update(stored)
    plainSize += plain.length
    const missing = missingBytes(rest, plain, segment, plainSize - plain.length - rest.length)
    if (missing > plain.length) {
      rest = Buffer.concat([rest, plain])
      continue
    }
    // Only the batch that lies across two pieces is copied.
    if (rest.length > 0) yield Buffer.concat([rest, plain.subarray(0, missing)])
    const fresh = plain.subarray(missing)
    const wholeBytes = endOfWholeBatches(fresh, segment, plainSize - fresh.length)
    // The memory of what is yielded belongs to the caller.
    rest = wholeBytes > 0 ? Buffer.from(fresh.subarray(wholeBytes)) : fresh
    if (wholeBytes > 0) yield fresh.subarray(0, wholeBytes)
  }
  if (plainSize !== segment.plain_size) {
    throw damaged(segment, `it holds ${plainSize} plain bytes instead of ${segment.plain_size}`)
  }
  if (rest.length > 0) throw damaged(segment, 'it ends inside a record batch')
  assertHash(hasher.finish(), segment)
}

/** All batches of a small segment, at once and checked, into memory of the caller. A merge reads thousands. */
export async function readWholeSegment(
  storage: Pick<Storage, 'readRange'>,
  segment: Segment,
  target: Buffer,
  signal: AbortSignal,
): Promise<void> {
  if (!isQuickSegment(segment)) {
    let at = 0
    for await (const bytes of readSegment(storage, segment, signal)) at += bytes.copy(target, at)
    return
  }
  openQuickSegment(
    await readExactly(storage, segment, segment.piece?.position ?? 0, segment.size, signal),
    segment,
    target,
  )
}

/** Whether a segment is small enough to be read at once. */
export function isQuickSegment({ size, plain_size, frames }: Segment): boolean {
  return size <= QUICK_BYTES && plain_size <= QUICK_BYTES && (!frames || frames.length === 1)
}

/** All batches of such a segment, checked, out of the bytes that are stored of it. */
export function openQuickSegment(stored: Buffer, segment: Segment, target: Buffer): void {
  const { plain_size: plainSize, frames } = segment
  assertFrames(segment)
  assertHash(hashOf(stored), segment)
  const plain = frames ? openSmallFrame(stored, segment) : stored
  if (plain.length !== plainSize) throw damaged(segment, `it holds ${plain.length} plain bytes instead of ${plainSize}`)
  if (endOfWholeBatches(plain, segment, 0) !== plainSize) throw damaged(segment, 'it ends inside a record batch')
  plain.copy(target)
}

const zstd = new ZstdReader()

/** Valid until the next call. */
function openSmallFrame(stored: Buffer, segment: Segment): Buffer {
  const plainBytes = segment.plain_size
  const quick = zstd.read(stored)
  if (quick) return quick
  try {
    return zstdDecompressSync(stored, {
      maxOutputLength: Math.max(1, plainBytes),
      chunkSize: Math.max(64, plainBytes + 1),
    })
  } catch (error) {
    throw damaged(segment, 'a zstd frame cannot be decoded', error)
  }
}

function assertHash(hash: string, segment: Segment): void {
  if ((segment.piece ? pieceHash(hash) : hash) === segment.blake3) return
  throw damaged(segment, 'its BLAKE3 hash is not the recorded one')
}

interface Piece {
  stored: Buffer
  plain: Buffer
}

async function* readPieces(
  storage: Pick<Storage, 'readRange'>,
  segment: Segment,
  signal: AbortSignal,
): AsyncGenerator<Piece> {
  assertFrames(segment)
  for (const { start, length, frames, largestPlainBytes } of chunksOf(segment)) {
    const release = await frameBudget.take(largestPlainBytes, signal)
    try {
      const chunk = await readExactly(storage, segment, start, length, signal)
      let position = 0
      for (const [storedBytes, plainBytes] of frames) {
        const stored = chunk.subarray(position, position + storedBytes)
        position += storedBytes
        yield { stored, plain: segment.frames ? await openFrame(stored, plainBytes, segment) : stored }
      }
      if (segment.frames) giveBackMemory(chunk)
    } finally {
      release()
    }
  }
}

/** Before a byte is read: what the index claims decides how much memory is made ready. */
function assertFrames(segment: Segment): void {
  const { frames, size, plain_size: plainSize } = segment
  if (!frames) return
  let stored = 0
  let plain = 0
  for (const [storedBytes, plainBytes] of frames) {
    if (plainBytes > MAX_FRAME_BYTES) throw damaged(segment, `a zstd frame claims ${plainBytes} plain bytes`)
    if (storedBytes > MAX_STORED_FRAME_BYTES) throw damaged(segment, `a zstd frame claims ${storedBytes} bytes`)
    stored += storedBytes
    plain += plainBytes
  }
  if (stored !== size) throw damaged(segment, `its frames end at ${stored} of ${size} bytes`)
  if (plain !== plainSize) throw damaged(segment, `its frames hold ${plain} plain bytes instead of ${plainSize}`)
}

async function readExactly(
  storage: Pick<Storage, 'readRange'>,
  segment: Segment,
  start: number,
  length: number,
  signal: AbortSignal,
): Promise<Buffer> {
  try {
    return await storage.readRange(segment.key, start, length, signal)
  } catch (error) {
    if (hasCode(error, 'STORAGE_NOT_FOUND')) throw damaged(segment, 'it is missing', error)
    if (hasCode(error, 'STORAGE_SHORT')) throw damaged(segment, 'it is shorter than recorded', error)
    throw error
  }
}

const decoders = new ZstdDecoders()

/** Node's decoder stops silently after the first of several frames; the recorded size says what must come out. */
async function openFrame(stored: Buffer, plainBytes: number, segment: Segment): Promise<Buffer> {
  const known = await decoders.decompress(stored, plainBytes)
  if (known) return known
  let plain: Buffer
  try {
    // In one piece: many small ones, and joining them, would cost more than unpacking. A piece that is filled to its last byte makes the
    // runtime allocate another one of the same size.
    plain = await decompress(stored, {
      maxOutputLength: Math.max(1, plainBytes),
      chunkSize: Math.max(64, plainBytes + 1),
    })
  } catch (error) {
    throw damaged(segment, 'a zstd frame cannot be decoded', error)
  }
  if (plain.length !== plainBytes) throw damaged(segment, 'a zstd frame has another size than recorded')
  return lendMemory(plain)
}

/** How much of the next piece ends the batch that `rest` begins with. */
function missingBytes(rest: Buffer, next: Buffer, segment: Segment, start: number): number {
  if (rest.length === 0) return 0
  const begin = Buffer.concat([rest.subarray(0, PREFIX_BYTES), next.subarray(0, PREFIX_BYTES)])
  const size = batchSizeAt(begin, 0, begin.length)
  if (size === undefined) return Number.POSITIVE_INFINITY
  checkSize(size, segment, start)
  return size - rest.length
}

/** A length that is wrong is found here, before the rest of the segment is gathered for a batch that never ends. */
function endOfWholeBatches(bytes: Buffer, segment: Segment, start: number): number {
  let position = 0
  for (;;) {
    const size = batchSizeAt(bytes, position, bytes.length)
    if (size === undefined) return position
    checkSize(size, segment, start + position)
    if (position + size > bytes.length) return position
    position += size
  }
}

function checkSize(size: number, segment: Segment, start: number): void {
  if (size > 0 && size <= MAX_BATCH_BYTES && start + size <= segment.plain_size) return
  throw damaged(segment, `the record batch at byte ${start} has a length of ${size} bytes`)
}

function damaged({ key }: Segment, why: string, cause?: unknown): KafkaBackupError {
  return damagedInside(key, why, { cause })
}
