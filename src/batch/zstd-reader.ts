import { constants, createZstdDecompress, zstdDecompressSync } from 'node:zlib'
import { readZstdFrame } from './zstd-frame.ts'

/** Larger ones are rare; what they need is not kept. */
const MAX_KEPT_BYTES = 16 << 20
/** The window that a decoder keeps. Producers use up to 8 MiB, at the highest level. */
const MAX_WINDOW_BYTES = 8 << 20
const MIN_ROOM_BYTES = 256 << 10

/** The part of the runtime's decoder that works synchronously, into memory of the caller. It is not documented. */
interface Handle {
  writeSync(flush: number, from: Buffer, at: number, bytes: number, to: Buffer, toAt: number, room: number): void
  onerror: unknown
}

interface Decoder {
  handle: Handle
  /** How much room and how much input the last call has left. */
  left: Uint32Array
  close(): void
}

/** False where the runtime is another one than this is made for. Decided with the first frame. */
let isTrusted: boolean | undefined

/**
 * Unpacks zstd frames with one decoder and into one buffer. A new decoder and new memory for each batch, and their
 * collection, would take several times as long as unpacking.
 */
export class ZstdReader {
  #decoder: Decoder | undefined
  #room: Buffer = Buffer.alloc(0)

  /**
   * The plain bytes of a frame, valid until the next call. Undefined for everything unusual: damaged, cut off or several
   * frames, a dictionary, more memory than is kept, another runtime. The caller then uses the documented way, which says what
   * is wrong. A frame that is not complete never reaches the decoder, which would take the next one for the rest of it.
   */
  read(bytes: Buffer): Buffer | undefined {
    const frame = readZstdFrame(bytes)
    if (!frame || frame.maxPlainBytes > MAX_KEPT_BYTES || frame.windowBytes > MAX_WINDOW_BYTES) return undefined
    if (isTrusted === false) return undefined
    const plain = this.#decode(bytes, frame.maxPlainBytes)
    if (isTrusted === undefined && plain) isTrusted = plain.equals(zstdDecompressSync(bytes))
    return isTrusted ? plain : undefined
  }

  #decode(bytes: Buffer, maxPlainBytes: number): Buffer | undefined {
    this.#decoder ??= openDecoder()
    if (!this.#decoder) return undefined
    // One byte more than can come out, so that a full buffer never means that something is left.
    if (this.#room.length <= maxPlainBytes) this.#room = Buffer.allocUnsafeSlow(roomFor(maxPlainBytes))
    const { handle, left } = this.#decoder
    const room = this.#room
    let hasFailed = false
    handle.onerror = () => {
      hasFailed = true
    }
    handle.writeSync(constants.ZSTD_e_end, bytes, 0, bytes.length, room, 0, room.length)
    const [roomLeft = 0, inputLeft = 0] = left
    if (!hasFailed && inputLeft === 0 && roomLeft > 0) return room.subarray(0, room.length - roomLeft)
    this.#decoder.close()
    this.#decoder = undefined
    return undefined
  }
}

function roomFor(maxPlainBytes: number): number {
  return Math.max(MIN_ROOM_BYTES, 2 ** Math.ceil(Math.log2(maxPlainBytes + 1)))
}

function openDecoder(): Decoder | undefined {
  const stream = createZstdDecompress() as unknown as { _handle?: Handle; _writeState?: Uint32Array; close(): void }
  const { _handle: handle, _writeState: left } = stream
  if (typeof handle?.writeSync === 'function' && left instanceof Uint32Array) {
    return { handle, left, close: () => stream.close() }
  }
  isTrusted = false
  stream.close()
  return undefined
}
