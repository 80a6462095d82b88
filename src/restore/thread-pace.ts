/** What is judged at once. The first time is not judged, because the code is not compiled yet. */
const JUDGED_BYTES = 8 << 20
/** Stored bytes for each second of CPU time. Batches that are compressed again take longer, those that are edited do not. */
const ENOUGH_BYTES_PER_SECOND = 40e6

/** How much a thread gets done. */
export class ThreadPace {
  #isWarm = false
  #bytes = 0
  #cpuMs = 0
  #isTooSlow = false

  /** As long as nothing is known, it is not. */
  get isTooSlow(): boolean {
    return this.#isTooSlow
  }

  note(bytes: number, cpuMs: number): void {
    this.#bytes += bytes
    this.#cpuMs += cpuMs
    if (this.#bytes < JUDGED_BYTES) return
    this.#isTooSlow = this.#isWarm && this.#bytes * 1000 < ENOUGH_BYTES_PER_SECOND * this.#cpuMs
    this.#isWarm = true
    this.#bytes = 0
    this.#cpuMs = 0
  }
}
