import { constants } from 'node:zlib'
import { withRoom } from './room.ts'

/** The part of a codec of the runtime that works synchronously, into memory of the caller. It is not documented. */
interface Handle {
  writeSync(flush: number, from: Buffer, at: number, bytes: number, to: Buffer, toAt: number, room: number): void
  onerror: unknown
}

interface CodecStream {
  _handle?: Handle
  _writeState?: Uint32Array
  close(): void
}

/** A codec of the runtime that is used for one frame after the other, and the memory that it writes to. */
export class ZstdHandle {
  readonly #open: () => unknown
  readonly #allocate: (bytes: number) => Buffer
  #stream: CodecStream | undefined
  #room: Buffer = Buffer.alloc(0)

  /** `allocate` returns memory for results, which replaces what it has returned before. */
  constructor(open: () => unknown, allocate: (bytes: number) => Buffer = Buffer.allocUnsafeSlow) {
    this.#open = open
    this.#allocate = allocate
  }

  /**
   * What becomes of the bytes, valid until the next call. Undefined where the runtime is another one than this is made for, or if
   * not all bytes were taken, or the result does not fit with room to spare: then the next call begins with a new codec.
   */
  run(bytes: Buffer, maxBytes: number): Buffer | undefined {
    this.#stream ??= this.#open() as CodecStream
    const { _handle: handle, _writeState: left } = this.#stream
    if (typeof handle?.writeSync !== 'function' || !(left instanceof Uint32Array)) return this.#drop()
    // One byte more than can come out, so that a full buffer never means that something is left.
    const room = withRoom(this.#room, maxBytes + 1, MIN_ROOM_BYTES, this.#allocate)
    this.#room = room
    let hasFailed = false
    handle.onerror = () => {
      hasFailed = true
    }
    handle.writeSync(constants.ZSTD_e_end, bytes, 0, bytes.length, room, 0, room.length)
    const [roomLeft = 0, inputLeft = 0] = left
    return hasFailed || inputLeft > 0 || roomLeft === 0 ? this.#drop() : room.subarray(0, room.length - roomLeft)
  }

  #drop(): undefined {
    this.#stream?.close()
    this.#stream = undefined
  }
}

const MIN_ROOM_BYTES = 256 << 10
