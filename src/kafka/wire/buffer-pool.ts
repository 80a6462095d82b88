/** Of a fetched response, which may hold one huge batch. Text of another protocol reads as more. */
export const MAX_FETCH_BYTES = 1 << 30
/** Of every other response: metadata of a million partitions take less. */
export const MAX_CONTROL_BYTES = 256 << 20

/** A fixed number of response buffers, made when first needed. This is what bounds the memory of a copy. */
export class BufferPool {
  readonly bufferBytes: number
  readonly #free: ResponseBuffer[] = []
  readonly #waiting: ((buffer: ResponseBuffer) => void)[] = []
  #unmade: number

  constructor(count: number, bufferBytes: number) {
    this.#unmade = count
    this.bufferBytes = bufferBytes
  }

  acquire(): Promise<ResponseBuffer> {
    const free = this.#free.pop()
    if (free) return Promise.resolve(free)
    if (this.#unmade > 0) {
      this.#unmade--
      return Promise.resolve(new ResponseBuffer(this.bufferBytes))
    }
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  release(buffer: ResponseBuffer): void {
    buffer.reset()
    const next = this.#waiting.shift()
    if (next) next(buffer)
    else this.#free.push(buffer)
  }
}

/**
 * Memory that one answer is read into. It keeps its size from answer to answer, so that a copy of terabytes allocates
 * nothing; an answer that does not fit (a single huge batch) gets separate memory that is released afterwards.
 */
export class ResponseBuffer {
  /** The largest answer that it takes. */
  readonly maxBytes: number
  #home: Buffer
  #bytes: Buffer

  constructor(sizeBytes: number, maxBytes = MAX_FETCH_BYTES) {
    this.maxBytes = maxBytes
    // Outside the pool of small buffers, and zeroed lazily by the kernel instead of up front.
    this.#home = Buffer.allocUnsafeSlow(sizeBytes)
    this.#bytes = this.#home
  }

  get bytes(): Buffer {
    return this.#bytes
  }

  /** Makes room for `sizeBytes`, keeping the first `keepBytes`. */
  reserve(sizeBytes: number, keepBytes: number): void {
    if (sizeBytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(sizeBytes)
    this.#bytes.copy(larger, 0, 0, keepBytes)
    this.#bytes = larger
  }

  reset(): void {
    this.#bytes = this.#home
  }
}
