import { giveBackMemory } from '../lib/recycled-memory.ts'
import type { ObjectWriter } from '../storage/storage.ts'
import type { ObjectCipher } from './object-cipher.ts'
import { FRAME_BYTES } from './object-header.ts'

/** Frames that are encrypted and handed on at a time; as many are on their way to the store meanwhile. */
const FRAMES_AT_A_TIME = 4
const SMALLEST_BYTES = 4096

/** What one writer holds between two writes: the last frame, which is known to be the last only at the commit. */
export const SEALED_WRITER_BYTES = FRAME_BYTES

/** Encrypts on the way. Full frames are taken straight from the chunks; only what does not fill one is copied. */
export class SealedWriter implements ObjectWriter {
  readonly #inner: ObjectWriter
  readonly #cipher: ObjectCipher
  #next = 0
  #held: Buffer = Buffer.alloc(0)
  #filled = 0
  #sealed: Buffer[]
  #isEnded = false
  #failure: { error: unknown } | undefined

  constructor(inner: ObjectWriter, cipher: ObjectCipher) {
    this.#inner = inner
    this.#cipher = cipher
    this.#sealed = [cipher.header.bytes]
  }

  write(chunks: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    return this.#guard(async () => {
      let pending: Promise<void> = Promise.resolve()
      const handOn = async () => {
        const frames = this.#sealed
        this.#sealed = []
        await pending
        pending = this.#handOn(frames, signal)
        // It is awaited with the next ones, or below.
        pending.catch(() => undefined)
      }
      for (const chunk of chunks) {
        for (let at = 0; at < chunk.length; ) {
          at += this.#take(chunk, at)
          if (this.#sealed.length >= 2 * FRAMES_AT_A_TIME) await handOn()
        }
      }
      // Nothing to hand on still asks the store whether the writer is spent.
      await handOn()
      await pending
    })
  }

  async commit(signal: AbortSignal): Promise<void> {
    if (!this.#isEnded) {
      await this.#guard(async () => {
        const last = this.#cipher.seal(this.#next, true, this.#held.subarray(0, this.#filled))
        await this.#inner.write([...this.#sealed, ...last], signal)
        this.#isEnded = true
      })
    }
    await this.#inner.commit(signal)
  }

  abort(): Promise<void> {
    return this.#inner.abort()
  }

  /** Their memory is used for the next ones. */
  async #handOn(frames: readonly Buffer[], signal: AbortSignal): Promise<void> {
    await this.#inner.write(frames, signal)
    for (const frame of frames) giveBackMemory(frame)
  }

  /** A frame is sealed once there is a byte behind it: until then it may be the last. Says how many bytes were taken. */
  #take(chunk: Uint8Array, at: number): number {
    if (this.#filled === FRAME_BYTES) {
      this.#sealed.push(...this.#cipher.seal(this.#next++, false, this.#held))
      this.#filled = 0
    }
    const rest = chunk.length - at
    if (this.#filled === 0 && rest > FRAME_BYTES) {
      this.#sealed.push(...this.#cipher.seal(this.#next++, false, chunk.subarray(at, at + FRAME_BYTES)))
      return FRAME_BYTES
    }
    const count = Math.min(rest, FRAME_BYTES - this.#filled)
    this.#roomFor(this.#filled + count)
    this.#held.set(chunk.subarray(at, at + count), this.#filled)
    this.#filled += count
    return count
  }

  /** Grows with what comes, so that a small object holds little. */
  #roomFor(bytes: number): void {
    if (this.#held.length >= bytes) return
    const size = Math.min(FRAME_BYTES, Math.max(SMALLEST_BYTES, 2 ** Math.ceil(Math.log2(bytes))))
    const larger = Buffer.allocUnsafeSlow(size)
    this.#held.copy(larger, 0, 0, this.#filled)
    this.#held = larger
  }

  /** After a failure it is unknown what was written: the writer cannot be used any more. */
  async #guard(work: () => Promise<void>): Promise<void> {
    if (this.#failure) throw this.#failure.error
    try {
      await work()
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }
}
