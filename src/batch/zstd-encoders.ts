import { constants, createZstdCompress, type ZstdCompress, zstdDecompressSync } from 'node:zlib'
import { readZstdFrame } from './zstd-frame.ts'

/** Larger pieces are rare; what they need is not kept. */
const MAX_PIECE_BYTES = 2 << 20
/** What does not compress grows by little. With room for the worst case zstd works in one pass, straight from the piece into the frame. */
const ROOM_BYTES = MAX_PIECE_BYTES + (MAX_PIECE_BYTES >> 8) + 1024
/** As many as there are threads for them. */
const MAX_IDLE = 4

type ZstdParams = Record<number, number>

/** The part of a codec of the runtime that takes all bytes and the end of the frame in one step, on another thread. It is not documented. */
interface OneStepStream extends ZstdCompress {
  _processChunk?: (bytes: Buffer, flush: number, onDone: () => void) => void
  _outOffset?: number
}

/**
 * Packs pieces on other threads with encoders that are kept. The documented call needs two steps for each piece, copies it, and leaves an
 * encoder and the room for the worst case to the collector, which then marks the heap for every few pieces.
 */
export class ZstdEncoders {
  readonly #params: ZstdParams
  readonly #idle: ZstdEncoder[] = []
  /** False where the runtime is another one than this is made for. Decided with the first frame. */
  #isTrusted: boolean | undefined

  constructor(params: ZstdParams) {
    this.#params = params
  }

  /** The piece as one frame, in memory that holds nothing else. Undefined for large pieces, and where the runtime is another one. */
  async compress(piece: Buffer): Promise<Buffer | undefined> {
    if (piece.length > MAX_PIECE_BYTES || this.#isTrusted === false) return undefined
    const encoder = this.#idle.pop() ?? new ZstdEncoder(this.#params)
    const packed = await encoder.run(piece)
    const isComplete = packed !== undefined && readZstdFrame(packed) !== undefined
    this.#isTrusted ??= isComplete && zstdDecompressSync(packed).equals(piece)
    const frame = isComplete && this.#isTrusted ? copyOf(packed) : undefined
    if (frame && this.#idle.length < MAX_IDLE) this.#idle.push(encoder)
    else encoder.close()
    return frame
  }
}

class ZstdEncoder {
  readonly #stream: OneStepStream
  #onError: ((error: unknown) => void) | undefined

  constructor(params: ZstdParams) {
    this.#stream = createZstdCompress({ params, chunkSize: ROOM_BYTES })
    this.#stream.on('error', error => this.#onError?.(error))
  }

  /** Valid until the next call; undefined where the runtime is another one. */
  async run(piece: Buffer): Promise<Buffer | undefined> {
    const stream = this.#stream
    if (typeof stream._processChunk !== 'function' || typeof stream._outOffset !== 'number') return undefined
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#onError = reject
    // All of the room is free again: the frame before was copied.
    stream._outOffset = 0
    stream._processChunk(piece, constants.ZSTD_e_end, resolve)
    await promise
    return stream.read() ?? undefined
  }

  close(): void {
    this.#stream.close()
  }
}

function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
