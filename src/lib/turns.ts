/** Runs tasks one after the other, in the order in which they come; after a failure the next one runs all the same. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  /** Resolves or rejects with the task. */
  take<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(task)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** When all tasks so far have ended, well or not. */
  async settled(): Promise<void> {
    await this.#last
  }
}
