import { constants, createZstdCompress, zstdDecompressSync } from 'node:zlib'
import { OneStepCodec } from './one-step-codec.ts'
import { readZstdFrame } from './zstd-frame.ts'

/** Larger pieces are rare; what they need is not kept. */
const MAX_PIECE_BYTES = 2 << 20
/** What does not compress grows by little. With room for the worst case zstd works in one pass, straight from the piece into the frame. */
const ROOM_BYTES = MAX_PIECE_BYTES + (MAX_PIECE_BYTES >> 8) + 1024
/** As many as there are threads for them. */
const MAX_IDLE = 4

type ZstdParams = Record<number, number>

interface Encoder {
  codec: OneStepCodec
  room: Buffer
}

/**
 * Packs pieces on other threads with encoders that are kept. The documented call needs two steps for each piece, copies it, and leaves an
 * encoder and the room for the worst case to the collector, which then marks the heap for every few pieces.
 */
export class ZstdEncoders {
  readonly #params: ZstdParams
  readonly #idle: Encoder[] = []
  /** False where the runtime is another one than this is made for. Decided with the first frame. */
  #isTrusted: boolean | undefined

  constructor(params: ZstdParams) {
    this.#params = params
  }

  /** The piece as one frame, in memory that holds nothing else. Undefined for large pieces, and where the runtime is another one. */
  async compress(piece: Buffer): Promise<Buffer | undefined> {
    if (piece.length > MAX_PIECE_BYTES || this.#isTrusted === false) return undefined
    const encoder = this.#idle.pop() ?? this.#open()
    const packed = await encoder.codec.run(piece, encoder.room)
    const isComplete = packed !== undefined && readZstdFrame(packed) !== undefined
    this.#isTrusted ??= isComplete && zstdDecompressSync(packed).equals(piece)
    const frame = isComplete && this.#isTrusted ? copyOf(packed) : undefined
    if (frame && this.#idle.length < MAX_IDLE) this.#idle.push(encoder)
    else encoder.codec.close()
    return frame
  }

  #open(): Encoder {
    const stream = createZstdCompress({ params: this.#params, chunkSize: constants.Z_MIN_CHUNK })
    return { codec: new OneStepCodec(stream, constants.ZSTD_e_end), room: Buffer.allocUnsafeSlow(ROOM_BYTES) }
  }
}

function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
