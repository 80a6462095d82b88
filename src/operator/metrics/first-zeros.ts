/** Longer than the usual time between two scrapes, so that two Prometheus servers both see the zero. */
export const defaultHoldMs = 45_000

/**
 * A counter that comes into being with the value 1 is no increase to Prometheus, so the very first failure of a resource
 * would go unnoticed. Here a series shows zero when it is first scraped and for the hold time after it; what was
 * counted meanwhile shows up then, as an increase.
 */
export class FirstZeros {
  readonly #monotonic: () => number
  readonly #holdMs: number
  /** When each series was first shown. */
  readonly #shownMs = new Map<string, number>()

  constructor({ monotonic, holdMs = defaultHoldMs }: { monotonic: () => number; holdMs?: number }) {
    this.#monotonic = monotonic
    this.#holdMs = holdMs
  }

  /** To be asked once for each scrape and series; the first time starts the hold time. */
  isHeld(series: string): boolean {
    const nowMs = this.#monotonic()
    const shownMs = this.#shownMs.get(series)
    if (shownMs === undefined) this.#shownMs.set(series, nowMs)
    return nowMs - (shownMs ?? nowMs) < this.#holdMs
  }

  /** A series of the same name that comes later is a new one. */
  forget(series: string): void {
    this.#shownMs.delete(series)
  }
}
