import { untilAborted } from '../lib/abort.ts'
import type { Clock } from '../lib/clock.ts'
import { Semaphore } from '../lib/semaphore.ts'

/** What one request, and all of them together, may take. */
export interface Limits {
  /** Of one request, with its time in the queue. */
  requestMs: number
  /** Requests that are worked on at the same time. */
  atOnce: number
  /** Further requests that wait; more are refused. */
  waiting: number
  /** Of all answers that clients have not taken yet; more are refused. */
  unsentBytes: number
  /** A client that neither sends nor takes anything for so long is cut off; an answer may take `requestMs`. */
  silentMs: number
}

export const defaultLimits: Limits = {
  ...{ requestMs: 30_000, atOnce: 4, waiting: 32 },
  ...{ unsentBytes: 256 << 20, silentMs: 60_000 },
}

/** Gives each request its turn and its time. */
export class RequestLimits {
  readonly #limits: Limits
  readonly #clock: Clock
  readonly #turns: Semaphore
  #requests = 0
  #unsent = 0

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
    this.#turns = new Semaphore(limits.atOnce)
  }

  /** Takes memory for an answer until it is sent, and returns what gives it back; undefined where slow clients hold too much already. */
  hold(bytes: number): (() => void) | undefined {
    if (this.#unsent > 0 && this.#unsent + bytes > this.#limits.unsentBytes) return undefined
    this.#unsent += bytes
    return () => {
      this.#unsent -= bytes
    }
  }

  /** Undefined where too many requests wait already. */
  async run<T>(left: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const { requestMs, atOnce, waiting } = this.#limits
    if (this.#requests >= atOnce + waiting) return undefined
    this.#requests++
    const over = new AbortController()
    const cancel = this.#clock.after(requestMs, () => over.abort(new OutOfTime(requestMs)))
    const signal = AbortSignal.any([left, over.signal])
    // A file system that does not answer keeps the turn, but not the client.
    const working = this.#inTurn(() => work(signal), signal).finally(() => {
      this.#requests--
    })
    try {
      return await untilAborted(working, signal)
    } finally {
      cancel()
    }
  }

  async #inTurn<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const release = await this.#turns.acquire(signal)
    try {
      return await work()
    } finally {
      release()
    }
  }
}

/** The request took longer than it may. */
export class OutOfTime extends Error {
  constructor(ms: number) {
    super(`the answer took longer than ${ms / 1000} s and was stopped; ask for less`)
    this.name = 'OutOfTime'
  }
}
