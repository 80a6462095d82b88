import type { Clock } from '../../lib/clock.ts'

/** A timer is limited to 24 days, and the wall clock may change: it is checked this often. */
const MAX_TIMER_MS = 30_000

/** By how much clocks are corrected all the time. */
const MAX_STEP_MS = 5000

/** Keys that become due at a time of the clock that `now` reads. */
export class DelayedKeys {
  readonly #clock: Clock
  readonly #now: () => number
  readonly #onDue: (key: string) => void
  readonly #times = new Map<string, number>()
  #isStarted = false
  #timer: { atMs: number; cancel: () => void } | undefined
  #lastMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, now: () => number, onDue: (key: string) => void) {
    this.#clock = clock
    this.#now = now
    this.#onDue = onDue
  }

  /** The earlier of two times counts. */
  add(key: string, atMs: number): void {
    const known = this.#times.get(key)
    if (known !== undefined && known <= atMs) return
    this.#times.set(key, atMs)
    if (this.#isStarted && (this.#timer === undefined || atMs < this.#timer.atMs)) this.#wait()
  }

  start(): void {
    this.#isStarted = true
    this.#ring()
  }

  /** Times are kept, nothing becomes due. */
  stop(): void {
    this.#isStarted = false
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #ring(): void {
    const nowMs = this.#now()
    // After the clock was set back no time is reliable: run every key, which sets its time again.
    const isSetBack = nowMs < this.#lastMs - MAX_STEP_MS
    this.#lastMs = nowMs
    const due = [...this.#times]
      .filter(([, atMs]) => isSetBack || atMs <= nowMs)
      .sort(([, one], [, other]) => one - other)
    for (const [key] of due) {
      this.#times.delete(key)
      this.#onDue(key)
    }
    this.#wait()
  }

  #wait(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#times.size === 0) return
    const nowMs = this.#now()
    let atMs = nowMs + MAX_TIMER_MS
    for (const time of this.#times.values()) atMs = Math.min(atMs, time)
    const cancel = this.#clock.after(Math.max(0, atMs - nowMs), () => {
      this.#timer = undefined
      this.#ring()
    })
    this.#timer = { atMs, cancel }
  }
}
