/** What may be held to look ahead; one block more comes on top. */
const MAX_HELD_BYTES = 4 << 20

/** A queue in front of something that comes in blocks: looks at what comes next without taking it. */
export class Lookahead<T> {
  readonly #blocks: AsyncIterator<readonly T[]>
  readonly #sizeOf: (item: T) => number
  #items: T[] = []
  #head = 0
  #hasEnded = false
  #dropped = 0
  #heldBytes = 0

  constructor(blocks: AsyncIterator<readonly T[]>, sizeOf: (item: T) => number) {
    this.#blocks = blocks
    this.#sizeOf = sizeOf
  }

  /** How many can be looked at without waiting. */
  get length(): number {
    return this.#items.length - this.#head
  }

  /** How many were taken. */
  get dropped(): number {
    return this.#dropped
  }

  /** Waits until so many can be looked at, or all that are left, or as many as may be held. One there is in any case. */
  async fill(count: number): Promise<void> {
    while (this.length < count && !this.#hasEnded && (this.length === 0 || this.#heldBytes < MAX_HELD_BYTES)) {
      const { value, done } = await this.#blocks.next()
      if (done) {
        this.#hasEnded = true
        return
      }
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
      for (const item of value) {
        this.#items.push(item)
        this.#heldBytes += this.#sizeOf(item)
      }
    }
  }

  at(index: number): T | undefined {
    return this.#items[this.#head + index]
  }

  /** It is known that there is nothing there. */
  isEnd(index: number): boolean {
    return this.#hasEnded && index >= this.length
  }

  drop(count: number): void {
    for (let i = 0; i < count; i++) {
      const item = this.at(i)
      if (item !== undefined) this.#heldBytes -= this.#sizeOf(item)
    }
    this.#head += count
    this.#dropped += count
  }

  /** Closes the source of the blocks. */
  async close(): Promise<void> {
    await this.#blocks.return?.()
  }
}
