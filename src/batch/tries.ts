/** After so many tries, most of which failed, it pauses for as many. */
const JUDGED = 16
const PAUSED = 240

/** Whether something is worth trying that works for most batches of a topic or for few, because they are much alike. */
export class Tries {
  #tried = 0
  #failed = 0
  #pause = 0

  get isPaused(): boolean {
    return this.#pause > 0
  }

  /** To be called once for each batch. */
  mayTry(): boolean {
    if (!this.isPaused) return true
    this.#pause--
    return false
  }

  note(hasWorked: boolean): void {
    this.#tried++
    if (!hasWorked) this.#failed++
    if (this.#tried < JUDGED) return
    if (this.#failed * 2 > this.#tried) this.#pause = PAUSED
    this.#tried = 0
    this.#failed = 0
  }
}
