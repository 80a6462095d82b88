import { constants, createZstdCompress, zstdDecompressSync } from 'node:zlib'
import { readZstdFrame } from './zstd-frame.ts'
import { ZstdHandle } from './zstd-handle.ts'

/** Larger ones are rare; what they need is not kept. */
const MAX_KEPT_BYTES = 16 << 20

/**
 * Whole topics are packed like this: level 3, the default, takes a third more time for one hundredth less space. A table that
 * fits into the cache nearest to the processor saves another tenth.
 */
export const QUICK_ZSTD = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_hashLog]: 13,
  [constants.ZSTD_c_minMatch]: 7,
}

/** False where the runtime is another one than this is made for. Decided with the first frame. */
let isTrusted: boolean | undefined

/** Packs batch after batch with one encoder and into one buffer, as `ZstdReader` unpacks them. */
export class ZstdWriter {
  readonly #handle = new ZstdHandle(() => createZstdCompress({ params: QUICK_ZSTD }))

  /** A frame, valid until the next call. Undefined for large batches, and where the runtime is another one. */
  write(plain: Buffer): Buffer | undefined {
    if (plain.length > MAX_KEPT_BYTES || isTrusted === false) return undefined
    const packed = this.#handle.run(plain, maxPackedBytes(plain.length))
    // Cheap, and what is wrong with the structure of a frame would otherwise show on the target.
    if (!packed || !readZstdFrame(packed)) return undefined
    isTrusted ??= zstdDecompressSync(packed).equals(plain)
    return isTrusted ? packed : undefined
  }
}

/** What does not compress grows by little. */
function maxPackedBytes(plainBytes: number): number {
  return plainBytes + (plainBytes >> 8) + 1024
}
