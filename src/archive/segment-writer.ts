import { promisify } from 'node:util'
import { constants, zstdCompress } from 'node:zlib'
import { runPool } from '../lib/pool.ts'
import type { ObjectWriter, Storage } from '../storage/storage.ts'
import { type Hasher, openHasher } from './hash.ts'
import type { AbortedTransaction, Segment } from './manifest.ts'
import { earlier, later } from './scalars.ts'

const compress = promisify(zstdCompress)
const COMPRESSIONS = 2
// A small window keeps the work of several threads within their caches; frames grow by a little.
const ZSTD_PARAMS = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 17 }

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

/** One segment on its way into the store: whole batches in, its entry for the index out. */
export class SegmentWriter {
  readonly #key: string
  readonly #compressed: boolean
  readonly #writer: ObjectWriter
  readonly #hasher: Hasher = openHasher()
  readonly #frames: [number, number][] = []
  #facts: ChunkFacts | undefined
  #size = 0
  #plainSize = 0

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
  }

  async finish(signal: AbortSignal): Promise<Segment> {
    const facts = this.#facts
    if (!facts) throw new Error('a segment without batches is never opened')
    await this.#writer.commit(signal)
    return {
      key: this.#key,
      size: this.#size,
      blake3: this.#hasher.finish(),
      compression: this.#compressed ? 'zstd' : 'none',
      plain_size: this.#plainSize,
      ...(this.#compressed && { frames: this.#frames }),
      start_offset: facts.startOffset,
      end_offset: facts.endOffset,
      batches: facts.batches,
      records: facts.records,
      aborted_records: facts.abortedRecords,
      first_timestamp: facts.firstTimestamp,
      last_timestamp: facts.lastTimestamp,
      ...(facts.aborted.length > 0 && { aborted: facts.aborted }),
    }
  }

  abort(): Promise<void> {
    return this.#writer.abort()
  }

  /** Each piece becomes a separate zstd frame, so that a reader can start at any of them. */
  async #compressAll(batches: readonly Buffer[]): Promise<Buffer[]> {
    const pieces = batches.flatMap(cutToFrames)
    // A few at a time: each has memory of its own while it waits for a thread, too.
    const frames = await runPool(pieces, COMPRESSIONS, compressPiece)
    frames.forEach((frame, i) => {
      this.#frames.push([frame.length, pieces[i]?.length ?? 0])
    })
    return frames
  }
}

/** Only a batch larger than a frame may be is cut. */
function cutToFrames(piece: Buffer): Buffer[] {
  const count = Math.ceil(piece.length / MAX_FRAME_BYTES)
  return Array.from({ length: count }, (_, i) => piece.subarray(i * MAX_FRAME_BYTES, (i + 1) * MAX_FRAME_BYTES))
}

/** With room for the worst case zstd works in one pass, straight from the piece into the frame. */
function compressPiece(piece: Buffer): Promise<Buffer> {
  const chunkSize = piece.length + (piece.length >> 8) + 1024
  return compress(piece, { chunkSize, params: ZSTD_PARAMS })
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
