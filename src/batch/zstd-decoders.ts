import { constants, createZstdDecompress, zstdDecompressSync } from 'node:zlib'
import { giveBackMemory, takeMemory } from '../lib/recycled-memory.ts'
import { OneStepCodec } from './one-step-codec.ts'
import { readZstdFrame } from './zstd-frame.ts'

/** Frames of one block are better unpacked without a thread. */
const MIN_PLAIN_BYTES = 128 << 10
/** Larger frames are rare; what they need is not kept. */
const MAX_PLAIN_BYTES = 16 << 20
const MAX_WINDOW_BYTES = 8 << 20
/** As many as there are threads for them. */
const MAX_IDLE = 4

/**
 * Unpacks frames on other threads with decoders that are kept, into memory that is used again. The documented call makes a new decoder and new
 * memory for each frame, in sizes that leave gaps: what the process needs would grow with the number of frames.
 */
export class ZstdDecoders {
  readonly #idle: OneStepCodec[] = []
  /** False where the runtime is another one than this is made for. Decided with the first frame. */
  #isTrusted: boolean | undefined

  /**
   * The plain bytes of a frame of which so many are expected, in memory that the receiver can give back (`lib/recycled-memory.ts`). Undefined for
   * everything unusual, as `ZstdReader` has it: damaged, another size, small, a large window, another runtime. The caller then uses the documented
   * way, which says what is wrong.
   */
  async decompress(frame: Buffer, plainBytes: number): Promise<Buffer | undefined> {
    if (this.#isTrusted === false || !isUsual(frame, plainBytes)) return undefined
    // One byte more, so that a full room never means that something is left.
    const room = takeMemory(plainBytes + 1)
    const plain = await this.#run(frame, room)
    const isExpected = plain?.length === plainBytes
    if (isExpected) this.#isTrusted ??= zstdDecompressSync(frame).equals(plain)
    if (isExpected && this.#isTrusted) return plain
    giveBackMemory(room)
    return undefined
  }

  async #run(frame: Buffer, room: Buffer): Promise<Buffer | undefined> {
    const decoder = this.#idle.pop() ?? open()
    const plain = await decoder.run(frame, room).catch(() => undefined)
    if (plain && this.#idle.length < MAX_IDLE) this.#idle.push(decoder)
    else decoder.close()
    return plain
  }
}

/**
 * Only a complete frame reaches a decoder that is kept: it would take the next one for the rest. One that may hold far more than is expected
 * would be unpacked in many steps.
 */
function isUsual(bytes: Buffer, plainBytes: number): boolean {
  if (plainBytes < MIN_PLAIN_BYTES || plainBytes > MAX_PLAIN_BYTES) return false
  const frame = readZstdFrame(bytes)
  return frame !== undefined && frame.maxPlainBytes <= 4 * plainBytes && frame.windowBytes <= MAX_WINDOW_BYTES
}

function open(): OneStepCodec {
  const stream = createZstdDecompress({ chunkSize: constants.Z_MIN_CHUNK })
  return new OneStepCodec(stream, constants.ZSTD_e_end)
}
