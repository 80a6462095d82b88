import type { Clock } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'

/** As often as a person could see a difference. */
const REPORT_MS = 50

/** Sums what was copied of a partition, and reports it some times a second: the listeners of each batch would cost more than preparing it. */
export class CopiedSum {
  readonly #place: { topic: string; partition: number }
  readonly #onProgress: OnProgress
  readonly #clock: Clock
  #records = 0
  #bytes = 0
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(place: { topic: string; partition: number }, onProgress: OnProgress, clock: Clock) {
    this.#place = place
    this.#onProgress = onProgress
    this.#clock = clock
  }

  add(records: number, bytes: number): void {
    this.#records += records
    this.#bytes += bytes
    if (this.#clock.monotonic() - this.#reportedAt >= REPORT_MS) this.report()
  }

  /** What was not reported yet: before a wait, and at the end. */
  report(): void {
    const [records, bytes] = [this.#records, this.#bytes]
    if (records === 0) return
    this.#records = 0
    this.#bytes = 0
    this.#reportedAt = this.#clock.monotonic()
    this.#onProgress({ type: 'copied', ...this.#place, offsets: BigInt(records), records, bytes })
  }
}
