import type { Clock } from '../../src/lib/clock.ts'

/** Time that passes only when a test says so. */
export class ManualClock implements Clock {
  #ms = Date.parse('2025-11-15T09:30:00Z')
  #timers = new Set<{ at: number; callback: () => void }>()

  readonly now = (): number => this.#ms

  readonly monotonic = (): number => this.#ms

  sleep(ms: number): Promise<void> {
    return new Promise(resolve => this.after(ms, resolve))
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#ms + ms, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  get pending(): number {
    return this.#timers.size
  }

  /** Lets the time pass and calls what has become due, in its order. */
  pass(ms: number): void {
    const end = this.#ms + ms
    for (;;) {
      const due = [...this.#timers].filter(timer => timer.at <= end).sort((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      this.#timers.delete(due)
      this.#ms = due.at
      due.callback()
    }
    this.#ms = end
  }
}
