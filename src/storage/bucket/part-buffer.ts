import { untilAborted } from '../../lib/abort.ts'
import { freeMemory } from '../../lib/recycled-memory.ts'

const smallestBytes = 64 * 1024

/**
 * Reuses the memory of full parts instead of leaving it to the garbage collector, and limits it: one part for each writer that is written to, and
 * those that are being uploaded. The last parts of objects wait for an upload while others are begun in their place.
 */
export class PartMemory {
  readonly partBytes: number
  readonly #uploads: number
  readonly #free: Buffer[] = []
  #writers = 0
  #lentBytes = 0
  readonly #waiting: (() => void)[] = []

  constructor(partBytes: number, uploads: number) {
    this.partBytes = partBytes
    this.#uploads = uploads
  }

  /** A writer takes part until the returned function is called. */
  join(): () => void {
    this.#writers++
    let hasLeft = false
    return () => {
      if (hasLeft) return
      hasLeft = true
      this.#writers--
      // A process that waits for its next round would hold the memory of all writers of the last one.
      if (this.#free.length > this.#maxParts) this.#free.length = this.#maxParts
    }
  }

  get #maxParts(): number {
    return this.#uploads + this.#writers
  }

  /** Whether a writer may begin a part. If it has none, all that keeps it from that is on its way to the store. */
  get hasRoom(): boolean {
    return this.#lentBytes + this.partBytes <= this.#maxParts * this.partBytes
  }

  async room(signal: AbortSignal): Promise<void> {
    while (!this.hasRoom) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiting.push(resolve)
      await untilAborted(promise, signal)
    }
  }

  /** More than a quarter is soon a full part: growing to it would leave memory of other sizes behind, and copy everything twice. */
  take(bytes: number): Buffer {
    const isLarge = 4 * bytes > this.partBytes
    const size = isLarge ? this.partBytes : Math.max(smallestBytes, 2 ** Math.ceil(Math.log2(bytes)))
    this.#lentBytes += size
    return (size === this.partBytes ? this.#free.pop() : undefined) ?? Buffer.allocUnsafeSlow(size)
  }

  /** Not freed: a request that was broken off may still refer to it. */
  give(buffer: Buffer): void {
    if (buffer.length === this.partBytes && this.#free.length < this.#maxParts) this.#free.push(buffer)
    this.#returned(buffer.length)
  }

  /** Nothing else refers to it. A part that grows to its full size would leave as much again to the collector. */
  outgrow(buffer: Buffer): void {
    this.#returned(buffer.length)
    freeMemory(buffer)
  }

  #returned(bytes: number): void {
    this.#lentBytes -= bytes
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

/**
 * The part that is being filled. The first part of an object grows on demand, so a small object uses little memory; the
 * following ones are allocated at full size.
 */
export class PartBuffer {
  readonly #memory: PartMemory
  readonly #isFirst: boolean
  #buffer: Buffer | undefined
  #filled = 0

  constructor(memory: PartMemory, isFirst: boolean) {
    this.#memory = memory
    this.#isFirst = isFirst
  }

  get isEmpty(): boolean {
    return this.#filled === 0
  }

  get isFull(): boolean {
    return this.#filled === this.#memory.partBytes
  }

  get bytes(): Buffer {
    return this.#buffer?.subarray(0, this.#filled) ?? Buffer.alloc(0)
  }

  /** Copies as much as fits and returns how much that was. */
  fill(chunk: Uint8Array): number {
    const count = Math.min(chunk.length, this.#memory.partBytes - this.#filled)
    if (count === 0) return 0
    const buffer = this.#roomFor(this.#filled + count)
    buffer.set(count === chunk.length ? chunk : chunk.subarray(0, count), this.#filled)
    this.#filled += count
    return count
  }

  free(): void {
    if (this.#buffer !== undefined) this.#memory.give(this.#buffer)
    this.#buffer = undefined
    this.#filled = 0
  }

  #roomFor(bytes: number): Buffer {
    const old = this.#buffer
    if (old !== undefined && old.length >= bytes) return old
    const buffer = this.#memory.take(this.#isFirst ? bytes : this.#memory.partBytes)
    if (old !== undefined) {
      old.copy(buffer, 0, 0, this.#filled)
      this.#memory.outgrow(old)
    }
    this.#buffer = buffer
    return buffer
  }
}
