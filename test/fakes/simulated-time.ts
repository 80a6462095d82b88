import type { Clock } from '../../src/lib/clock.ts'

interface Timer {
  atMs: number
  order: number
  ring: () => void
}

/** Time for several machines, whose clocks may run at different rates and show different times. It passes in `pass` only. */
export class SimulatedTime {
  readonly startMs = Date.parse('2026-01-02T03:04:05Z')
  #ms = 0
  #order = 0
  readonly #timers = new Set<Timer>()

  /** True time since the beginning. */
  get ms(): number {
    return this.#ms
  }

  /** A clock that runs `rate` times as fast as the true time and is ahead of it by `aheadMs`. */
  clock({ rate = 1, aheadMs = 0 }: { rate?: number; aheadMs?: number } = {}): Clock {
    const monotonic = () => aheadMs + this.#ms * rate
    return {
      now: () => Math.floor(this.startMs + monotonic()),
      monotonic,
      after: (ms, ring) => this.#after(ms / rate, ring),
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          if (signal?.aborted) return reject(signal.reason)
          const onAbort = () => {
            cancel()
            reject(signal?.reason)
          }
          const cancel = this.#after(ms / rate, () => {
            signal?.removeEventListener('abort', onAbort)
            resolve()
          })
          signal?.addEventListener('abort', onAbort, { once: true })
        }),
    }
  }

  get pending(): number {
    return this.#timers.size
  }

  /** Lets the time pass; after each timer, and before the first, everything runs that waits for nothing but promises. */
  async pass(ms: number): Promise<void> {
    const end = this.#ms + ms
    await settle()
    for (;;) {
      let next: Timer | undefined
      for (const timer of this.#timers) if (timer.atMs <= end && (!next || isBefore(timer, next))) next = timer
      if (next === undefined) break
      this.#timers.delete(next)
      this.#ms = next.atMs
      next.ring()
      await settle()
    }
    this.#ms = end
  }

  #after(ms: number, ring: () => void): () => void {
    const timer = { atMs: this.#ms + Math.max(0, ms), order: this.#order++, ring }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)
}

export function settle(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
