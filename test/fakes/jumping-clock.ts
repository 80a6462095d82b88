import type { Clock } from '../../src/lib/clock.ts'

/** Nobody waits: a sleep moves the time on and ends at once. Timers of `after` never ring by themselves. */
export class JumpingClock implements Clock {
  readonly slept: number[] = []
  #ms = Date.parse('2026-01-02T03:04:05Z')

  readonly now = (): number => this.#ms

  readonly monotonic = (): number => this.#ms

  readonly sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted()
    this.slept.push(ms)
    this.#ms += ms
    // A turn of the loop, so that a caller that waits for ever can be stopped by its test.
    await new Promise(resolve => setImmediate(resolve))
    signal?.throwIfAborted()
  }

  readonly after = (): (() => void) => () => undefined

  pass(ms: number): void {
    this.#ms += ms
  }
}
