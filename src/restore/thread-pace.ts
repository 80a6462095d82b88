/** The first bytes take longer, because the code for them is not compiled yet. */
const WARM_UP_BYTES = 4 << 20
/** Stored bytes for each second of CPU time. Batches that are compressed again take longer, those that are edited do not. */
const ENOUGH_BYTES_PER_SECOND = 40e6

/** How much a thread gets done. */
export class ThreadPace {
  #warmUp = WARM_UP_BYTES
  #bytes = 0
  #cpuMs = 0

  note(bytes: number, cpuMs: number): void {
    if (this.#warmUp > 0) {
      this.#warmUp -= bytes
      return
    }
    this.#bytes += bytes
    this.#cpuMs += cpuMs
  }

  /** As long as nothing is known, it is not. */
  get isTooSlow(): boolean {
    return this.#bytes * 1000 < ENOUGH_BYTES_PER_SECOND * this.#cpuMs
  }
}
