import { freeMemory } from '../../lib/recycled-memory.ts'

const smallestBytes = 64 * 1024

/** Reuses the memory of full parts instead of leaving it to the garbage collector. */
export class PartMemory {
  readonly partBytes: number
  readonly #keep: number
  readonly #free: Buffer[] = []

  constructor(partBytes: number, keep: number) {
    this.partBytes = partBytes
    this.#keep = keep
  }

  take(bytes: number): Buffer {
    const size = Math.min(this.partBytes, Math.max(smallestBytes, 2 ** Math.ceil(Math.log2(bytes))))
    return (size === this.partBytes ? this.#free.pop() : undefined) ?? Buffer.allocUnsafeSlow(size)
  }

  give(buffer: Buffer): void {
    if (buffer.length === this.partBytes && this.#free.length < this.#keep) this.#free.push(buffer)
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
      // Nothing else refers to it. A part that grows to its full size would leave as much again to the collector.
      freeMemory(old)
    }
    this.#buffer = buffer
    return buffer
  }
}
