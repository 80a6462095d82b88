import type { Clock } from '../../lib/clock.ts'
import { backoffMs, type RetryPolicy } from '../../lib/retry.ts'
import { DelayedKeys } from './delayed-keys.ts'

interface QueueOptions {
  clock: Clock
  random: () => number
  retry?: RetryPolicy
  observer?: QueueObserver
}

/** For metrics by controller. */
export interface QueueObserver {
  /** Keys that wait for a worker, without delayed and active ones. */
  depth(keys: number): void
  added(): void
  retried(error: unknown, key: string, delayMs: number): void
  /** Of one key, from its hand-out to its end. */
  worked(durationMs: number, isFailed: boolean): void
}

/** The result of the work on a key: when to run again, milliseconds since the epoch. */
export interface WorkResult {
  recheckAtMs?: number
}

/**
 * The alert on errors needs at least one error in each window of five minutes; with longer pauses it would resolve while
 * the resource still fails.
 */
const defaultRetry: RetryPolicy = { attempts: Number.POSITIVE_INFINITY, baseDelayMs: 1000, maxDelayMs: 2 * 60_000 }

/**
 * A queue of keys. A key waits once however often it is added, and no two workers have the same key; one that is
 * added while it is active runs once more. A key whose work fails returns after a growing delay.
 */
export class WorkQueue {
  readonly #options: QueueOptions
  readonly #retry: RetryPolicy
  /** In the order in which they came. */
  readonly #ready = new Set<string>()
  readonly #active = new Set<string>()
  /** Added while being worked on. */
  readonly #again = new Set<string>()
  readonly #failures = new Map<string, number>()
  readonly #scheduled: DelayedKeys
  /** On the monotonic clock: a retry does not wait for a wall clock that was set back. */
  readonly #retries: DelayedKeys
  #idle: (() => void)[] = []

  constructor(options: QueueOptions) {
    this.#options = options
    this.#retry = options.retry ?? defaultRetry
    const { clock } = options
    this.#scheduled = new DelayedKeys(
      clock,
      () => clock.now(),
      key => this.add(key),
    )
    this.#retries = new DelayedKeys(
      clock,
      () => clock.monotonic(),
      key => this.add(key),
    )
  }

  get depth(): number {
    return this.#ready.size
  }

  add(key: string): void {
    const waiting = this.#active.has(key) ? this.#again : this.#ready
    if (waiting.has(key)) return
    waiting.add(key)
    this.#options.observer?.added()
    this.#reportDepth()
    this.#idle.shift()?.()
  }

  /** By the wall clock; of two times for a key the earlier one counts. */
  addAt(key: string, atMs: number): void {
    this.#scheduled.add(key, atMs)
  }

  /**
   * Works with so many at a time until the signal, then waits for the work under way, whose signal it is as well. What
   * waits is kept for the next run.
   */
  async run(
    workers: number,
    work: (key: string, signal: AbortSignal) => Promise<WorkResult>,
    signal: AbortSignal,
  ): Promise<void> {
    const wake = () => {
      for (const resolve of this.#idle.splice(0)) resolve()
    }
    signal.addEventListener('abort', wake, { once: true })
    this.#scheduled.start()
    this.#retries.start()
    try {
      await Promise.all(Array.from({ length: workers }, () => this.#runWorker(work, signal)))
    } finally {
      this.#scheduled.stop()
      this.#retries.stop()
      signal.removeEventListener('abort', wake)
    }
  }

  async #runWorker(work: (key: string, signal: AbortSignal) => Promise<WorkResult>, signal: AbortSignal) {
    while (!signal.aborted) {
      const [key] = this.#ready
      if (key === undefined) await new Promise<void>(resolve => this.#idle.push(resolve))
      else await this.#workOn(key, work, signal)
    }
  }

  async #workOn(
    key: string,
    work: (key: string, signal: AbortSignal) => Promise<WorkResult>,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, observer } = this.#options
    this.#ready.delete(key)
    this.#active.add(key)
    this.#reportDepth()
    const began = clock.monotonic()
    let isFailed = false
    try {
      const { recheckAtMs } = await work(key, signal)
      this.#failures.delete(key)
      if (recheckAtMs !== undefined) this.addAt(key, recheckAtMs)
    } catch (error) {
      isFailed = true
      this.#retryLater(key, error, signal)
    } finally {
      this.#active.delete(key)
      if (this.#again.delete(key)) this.#ready.add(key)
      observer?.worked(clock.monotonic() - began, isFailed)
      this.#reportDepth()
    }
  }

  /** Aborted work is not a failure: it comes first in the next run. */
  #retryLater(key: string, error: unknown, signal: AbortSignal): void {
    if (signal.aborted) {
      this.#again.add(key)
      return
    }
    const { clock, random, observer } = this.#options
    const failures = (this.#failures.get(key) ?? 0) + 1
    this.#failures.set(key, failures)
    const delayMs = backoffMs(failures, this.#retry, random())
    observer?.retried(error, key, delayMs)
    this.#retries.add(key, clock.monotonic() + delayMs)
  }

  #reportDepth(): void {
    this.#options.observer?.depth(this.#ready.size)
  }
}
