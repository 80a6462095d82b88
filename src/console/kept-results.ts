/** Keeps the results that were used last. Requests for the same one share its reading; a failure is not kept. */
export class KeptResults<T> {
  readonly #max: number
  /** The one that was used last is at the end. */
  readonly #kept = new Map<string, Promise<T>>()

  constructor(max: number) {
    this.#max = max
  }

  async get(key: string, read: () => Promise<T>): Promise<T> {
    const found = this.#kept.get(key)
    if (found) {
      this.#keep(key, found)
      // It may have failed because the request that began it was stopped.
      return found.catch(() => this.#read(key, read))
    }
    return this.#read(key, read)
  }

  forget(isMeant: (key: string) => boolean): void {
    for (const key of [...this.#kept.keys()]) if (isMeant(key)) this.#kept.delete(key)
  }

  async #read(key: string, read: () => Promise<T>): Promise<T> {
    const reading = read()
    this.#keep(key, reading)
    try {
      return await reading
    } catch (error) {
      if (this.#kept.get(key) === reading) this.#kept.delete(key)
      throw error
    }
  }

  #keep(key: string, result: Promise<T>): void {
    this.#kept.delete(key)
    this.#kept.set(key, result)
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#max) break
      this.#kept.delete(oldest)
    }
  }
}
