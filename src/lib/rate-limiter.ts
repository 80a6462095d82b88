import type { Clock } from './clock.ts'

/**
 * Keeps a sum below a rate over time. Spending comes after the fact, when the amount is known, and makes the next one
 * wait: a single large answer is never refused, only paid for. Unused time is saved for at most a second.
 */
export class RateLimiter {
  readonly #perSecond: number
  readonly #clock: Clock
  /** When all that was spent so far is paid for. */
  #paidAt: number

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond
    this.#clock = clock
    this.#paidAt = clock.monotonic()
  }

  spend(amount: number): void {
    const earliest = this.#clock.monotonic() - 1000
    this.#paidAt = Math.max(this.#paidAt, earliest) + (amount / this.#perSecond) * 1000
  }

  /** Waits until what was spent is paid for; with several waiters, each looks again when its time has come. */
  async wait(signal: AbortSignal): Promise<void> {
    for (let ms = this.#dueMs(); ms > 0; ms = this.#dueMs()) await this.#clock.sleep(ms, signal)
  }

  #dueMs(): number {
    return Math.ceil(this.#paidAt - this.#clock.monotonic())
  }
}
