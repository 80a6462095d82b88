/** A queue in front of something that comes in blocks: looks at what comes next without taking it. */
export class Lookahead<T> {
  readonly #blocks: AsyncIterator<readonly T[]>
  #items: T[] = []
  #head = 0
  #hasEnded = false
  #dropped = 0

  constructor(blocks: AsyncIterator<readonly T[]>) {
    this.#blocks = blocks
  }

  /** How many can be looked at without waiting. */
  get length(): number {
    return this.#items.length - this.#head
  }

  /** How many were taken. */
  get dropped(): number {
    return this.#dropped
  }

  /** Waits until so many can be looked at, or all that are left. */
  async fill(count: number): Promise<void> {
    while (this.length < count && !this.#hasEnded) {
      const { value, done } = await this.#blocks.next()
      if (done) {
        this.#hasEnded = true
        return
      }
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
      for (const item of value) this.#items.push(item)
    }
  }

  at(index: number): T | undefined {
    return this.#items[this.#head + index]
  }

  drop(count: number): void {
    this.#head += count
    this.#dropped += count
  }

  /** Lets whoever makes the blocks close what is open. */
  async close(): Promise<void> {
    await this.#blocks.return?.()
  }
}
