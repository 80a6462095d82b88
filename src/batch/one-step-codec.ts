import type { ZstdCompress, ZstdDecompress } from 'node:zlib'

/** The part of a codec of the runtime that takes all bytes and the end of the frame in one step, on another thread. It is not documented. */
type CodecStream = (ZstdCompress | ZstdDecompress) & {
  _processChunk?: (bytes: Buffer, flush: number, onDone: () => void) => void
  _outBuffer?: Buffer
  _outOffset?: number
  _chunkSize?: number
}

/** A codec of the runtime that is used for one frame after the other on another thread, into memory of the caller. */
export class OneStepCodec {
  readonly #stream: CodecStream
  readonly #flush: number
  /** What came out since the step began. */
  #results: Buffer[] = []
  #onError: ((error: unknown) => void) | undefined

  constructor(stream: ZstdCompress | ZstdDecompress, flush: number) {
    this.#stream = stream
    this.#flush = flush
    this.#stream.on('error', error => this.#onError?.(error))
    // Taken as it comes: the stream would otherwise wait for a reader where more comes out than expected.
    this.#stream.on('data', result => this.#results.push(result))
  }

  /**
   * What becomes of the bytes, in `room`. Undefined where it does not fit with room to spare, or the runtime is another one than this is made
   * for. Rejects where the codec finds the bytes damaged. After both it must be closed.
   */
  async run(bytes: Buffer, room: Buffer): Promise<Buffer | undefined> {
    const stream = this.#stream
    if (typeof stream._processChunk !== 'function' || !isMadeFor(stream)) return undefined
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#onError = reject
    this.#results = []
    stream._outBuffer = room
    stream._outOffset = 0
    stream._chunkSize = room.length
    stream._processChunk(bytes, this.#flush, resolve)
    await promise
    const [result] = this.#results
    // A runtime that knows the room by another name, or that has filled it, has taken other memory.
    return result?.buffer === room.buffer && result.length < room.length ? result : undefined
  }

  close(): void {
    this.#stream.close()
  }
}

function isMadeFor(stream: CodecStream): boolean {
  const { _outBuffer, _outOffset, _chunkSize } = stream
  return Buffer.isBuffer(_outBuffer) && typeof _outOffset === 'number' && typeof _chunkSize === 'number'
}
