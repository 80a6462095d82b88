import { ResponseBuffer } from './wire/response-buffer.ts'

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
