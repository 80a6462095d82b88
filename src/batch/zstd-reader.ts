import { createZstdDecompress, zstdDecompressSync } from 'node:zlib'
import { readZstdFrame } from './zstd-frame.ts'
import { ZstdHandle } from './zstd-handle.ts'

/** Larger ones are rare; what they need is not kept. */
const MAX_KEPT_BYTES = 16 << 20
/** The window that a decoder keeps. Producers use up to 8 MiB, at the highest level. */
const MAX_WINDOW_BYTES = 8 << 20

/** False where the runtime is another one than this is made for. Decided with the first frame. */
let isTrusted: boolean | undefined

/**
 * Unpacks zstd frames with one decoder and into one buffer. A new decoder and new memory for each batch, and their
 * collection, would take several times as long as unpacking.
 */
export class ZstdReader {
  readonly #handle: ZstdHandle

  constructor(allocate?: (bytes: number) => Buffer) {
    this.#handle = new ZstdHandle(createZstdDecompress, allocate)
  }

  /**
   * The plain bytes of a frame, valid until the next call; the caller may change them. Undefined for everything unusual: damaged,
   * cut off or several frames, a dictionary, more memory than is kept, another runtime. The caller then uses the documented
   * way, which says what is wrong. A frame that is not complete never reaches the decoder, which would take the next one
   * for the rest of it.
   */
  read(bytes: Buffer): Buffer | undefined {
    const frame = readZstdFrame(bytes)
    if (!frame || frame.maxPlainBytes > MAX_KEPT_BYTES || frame.windowBytes > MAX_WINDOW_BYTES) return undefined
    if (isTrusted === false) return undefined
    const plain = this.#handle.run(bytes, frame.maxPlainBytes)
    if (isTrusted === undefined && plain) isTrusted = plain.equals(zstdDecompressSync(bytes))
    return isTrusted ? plain : undefined
  }
}
