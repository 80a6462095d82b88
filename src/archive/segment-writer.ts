import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync } from 'node:zlib'
import { ZstdEncoders } from '../batch/zstd-encoders.ts'
import { ZstdWriter } from '../batch/zstd-writer.ts'
import { runPool } from '../lib/pool.ts'
import { freeMemory } from '../lib/recycled-memory.ts'
import type { ObjectWriter, Storage } from '../storage/storage.ts'
import { type Hasher, openHasher } from './hash.ts'
import type { AbortedTransaction, Segment } from './manifest.ts'
import { earlier, later } from './scalars.ts'

const compress = promisify(zstdCompress)
const COMPRESSIONS = 2
// A small window keeps the work of several threads within their caches; frames grow by a little.
const ZSTD_PARAMS = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 17 }

/** Up to this the hand-over to a thread takes longer than compressing or decompressing. */
const SMALL_BYTES = 32 << 10

/**
 * Up to this one encoder or decoder that is kept takes less time than a new one in a thread. Merges of thousands of pieces would wait for
 * these one after the other, and more pieces come meanwhile.
 */
export const QUICK_BYTES = 256 << 10

/** Plain bytes of a frame. A reader makes room for no more, whatever an index claims. */
export const MAX_FRAME_BYTES = 128 << 20

/** Totals of a run of batches, from the caller that has walked them. */
export interface ChunkFacts {
  startOffset: bigint
  endOffset: bigint
  batches: number
  records: number
  abortedRecords: number
  firstTimestamp: bigint | null
  lastTimestamp: bigint | null
  aborted: AbortedTransaction[]
}

/** What a partition's batches are written to: a segment or a piece. */
export interface BatchWriter {
  readonly plainSize: number
  append(pieces: readonly Buffer[], facts: ChunkFacts, signal: AbortSignal): Promise<void>
  /** No more batches come. A segment is durable when this resolves, a piece when its pack is written. */
  hand(signal: AbortSignal): Promise<{ durable: Promise<Segment> }>
  /** The entry that `hand` will answer with, when all batches are appended. Where it is not known before, there is no such method. */
  foresee?(): Segment
  abort(): Promise<void>
}

/** One segment on its way into the store: whole batches in, its entry for the index out. */
export class SegmentWriter implements BatchWriter {
  readonly #key: string
  readonly #compressed: boolean
  readonly #writer: ObjectWriter
  readonly #hasher: Hasher = openHasher()
  readonly #frames: [number, number][] = []
  #facts: ChunkFacts | undefined
  #size = 0
  #plainSize = 0
  #entry: Segment | undefined

  private constructor(key: string, compressed: boolean, writer: ObjectWriter) {
    this.#key = key
    this.#compressed = compressed
    this.#writer = writer
  }

  static async open(storage: Storage, key: string, compressed: boolean, signal: AbortSignal): Promise<SegmentWriter> {
    return new SegmentWriter(key, compressed, await storage.openWriter(key, signal))
  }

  get plainSize(): number {
    return this.#plainSize
  }

  /** Appends batches, given as pieces that each end at a batch's end. Their memory is free again when this resolves. */
  async append(pieces: readonly Buffer[], facts: ChunkFacts, signal: AbortSignal): Promise<void> {
    const stored = this.#compressed ? await this.#compressAll(pieces) : pieces
    // Written while it is hashed: the store's threads take the bytes, this one sums them up.
    const writing = this.#writer.write(stored, signal)
    for (const piece of stored) {
      this.#hasher.update(piece)
      this.#size += piece.length
    }
    for (const piece of pieces) this.#plainSize += piece.length
    this.#facts = this.#facts ? joinFacts(this.#facts, facts) : facts
    await writing
    // Left to the collector, frames would make it search the heap for every few megabytes that are compressed.
    if (this.#compressed) for (const frame of stored) freeMemory(frame)
  }

  async finish(signal: AbortSignal): Promise<Segment> {
    const entry = this.foresee()
    await this.#writer.commit(signal)
    return entry
  }

  foresee(): Segment {
    this.#entry ??= this.#describe()
    return this.#entry
  }

  async hand(signal: AbortSignal): Promise<{ durable: Promise<Segment> }> {
    return { durable: Promise.resolve(await this.finish(signal)) }
  }

  abort(): Promise<void> {
    return this.#writer.abort()
  }

  #describe(): Segment {
    const facts = this.#facts
    if (!facts) throw new Error('a segment without batches is never opened')
    const stored = { key: this.#key, size: this.#size, blake3: this.#hasher.finish(), plain_size: this.#plainSize }
    return describeSegment(stored, this.#compressed ? this.#frames : undefined, facts)
  }

  async #compressAll(batches: readonly Buffer[]): Promise<Buffer[]> {
    const { stored, frames } = await compressToFrames(batches)
    this.#frames.push(...frames)
    return stored
  }
}

/** Pure. The entry of a segment. `frames` are absent where nothing is compressed. */
export function describeSegment(
  stored: Pick<Segment, 'key' | 'size' | 'blake3' | 'plain_size'>,
  frames: [number, number][] | undefined,
  facts: ChunkFacts,
): Segment {
  const segment: Segment = {
    key: stored.key,
    size: stored.size,
    blake3: stored.blake3,
    compression: frames ? 'zstd' : 'none',
    plain_size: stored.plain_size,
    start_offset: facts.startOffset,
    end_offset: facts.endOffset,
    batches: facts.batches,
    records: facts.records,
    aborted_records: facts.abortedRecords,
    first_timestamp: facts.firstTimestamp,
    last_timestamp: facts.lastTimestamp,
  }
  if (frames) segment.frames = frames
  if (facts.aborted.length > 0) segment.aborted = facts.aborted
  return segment
}

/** Pure. What the entry of a segment says of its batches. */
function factsOf(segment: Segment): ChunkFacts {
  return {
    startOffset: segment.start_offset,
    endOffset: segment.end_offset,
    batches: segment.batches,
    records: segment.records,
    abortedRecords: segment.aborted_records,
    firstTimestamp: segment.first_timestamp,
    lastTimestamp: segment.last_timestamp,
    aborted: segment.aborted ?? [],
  }
}

/** Pure. What the entries of segments that follow one another say of all of their batches. There is at least one. */
export function joinedFacts(segments: readonly Segment[]): ChunkFacts {
  const [first] = segments
  if (!first) throw new Error('there are no segments')
  const facts = factsOf(first)
  for (const segment of segments) {
    if (segment === first) continue
    facts.endOffset = segment.end_offset
    facts.batches += segment.batches
    facts.records += segment.records
    facts.abortedRecords += segment.aborted_records
    facts.firstTimestamp = earlier(facts.firstTimestamp, segment.first_timestamp)
    facts.lastTimestamp = later(facts.lastTimestamp, segment.last_timestamp)
    if (segment.aborted) facts.aborted = [...facts.aborted, ...segment.aborted]
  }
  return facts
}

/** Each piece becomes a separate zstd frame, so that a reader can start at any of them. */
export async function compressToFrames(
  batches: readonly Buffer[],
): Promise<{ stored: Buffer[]; frames: [number, number][] }> {
  const pieces = batches.flatMap(cutToFrames)
  // A few at a time: each has memory of its own while it waits for a thread, too.
  const stored = await runPool(pieces, COMPRESSIONS, compressPiece)
  return { stored, frames: stored.map((frame, i) => [frame.length, pieces[i]?.length ?? 0]) }
}

/** Only a batch larger than a frame may be is cut. */
function cutToFrames(piece: Buffer): Buffer[] {
  const count = Math.ceil(piece.length / MAX_FRAME_BYTES)
  return Array.from({ length: count }, (_, i) => piece.subarray(i * MAX_FRAME_BYTES, (i + 1) * MAX_FRAME_BYTES))
}

const encoders = new ZstdEncoders(ZSTD_PARAMS)

/** One frame, which is the caller's alone. */
export async function compressPiece(piece: Buffer): Promise<Buffer> {
  const options = { chunkSize: piece.length + (piece.length >> 8) + 1024, params: ZSTD_PARAMS }
  if (piece.length <= SMALL_BYTES) return zstdCompressSync(piece, options)
  return (await encoders.compress(piece)) ?? compress(piece, options)
}

const zstd = new ZstdWriter()

/**
 * One frame, valid until the next call; undefined for large pieces. Of small ones there are thousands: a new encoder for each would take
 * longer than its work.
 */
export function quickFrame(piece: Buffer): Buffer | undefined {
  return piece.length <= QUICK_BYTES ? zstd.write(piece) : undefined
}

/** One frame, in memory that holds nothing else. */
export async function compressToFrame(piece: Buffer): Promise<Buffer> {
  return Buffer.from(quickFrame(piece) ?? (await compressPiece(piece)))
}

export function joinFacts(first: ChunkFacts, second: ChunkFacts): ChunkFacts {
  return {
    startOffset: first.startOffset,
    endOffset: second.endOffset,
    batches: first.batches + second.batches,
    records: first.records + second.records,
    abortedRecords: first.abortedRecords + second.abortedRecords,
    firstTimestamp: earlier(first.firstTimestamp, second.firstTimestamp),
    lastTimestamp: later(first.lastTimestamp, second.lastTimestamp),
    aborted: [...first.aborted, ...second.aborted],
  }
}
