import { uptime } from 'node:os'

/** The only place that reads the time or waits. Everything else is handed a Clock, so tests decide how time passes. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds of a clock that never jumps. */
  monotonic(): number
  /** For how long the machine was suspended since the process began: the monotonic clock does not count that. */
  suspendedMs?(): number
  /** Resolves after the time has passed; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls back once after the time has passed; the function returned cancels it. */
  after(ms: number, callback: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  suspendedMs: measureSuspension(
    () => uptime() * 1000,
    () => performance.now(),
  ),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }, ms)
      const onAbort = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
}

/** Calls back once after the time has passed, unless the process has ended before, because nothing else keeps it. */
export function ifStillRunning(ms: number, callback: () => void): void {
  setTimeout(callback, ms).unref()
}

export function formatUtc(ms: number): string {
  return new Date(ms).toISOString()
}

/** Differences below this are those of clocks that count whole seconds. */
const LEAST_SUSPENSION_MS = 5000

/** By a clock that counts while the machine is suspended, and one that does not. */
export function measureSuspension(sinceBootMs: () => number, monotonic: () => number): () => number {
  const difference = () => sinceBootMs() - monotonic()
  const before = difference()
  return () => {
    const ms = difference() - before
    return ms < LEAST_SUSPENSION_MS ? 0 : ms
  }
}

/** Milliseconds of a clock that never jumps, and counts while the machine is suspended. */
export function elapsedOf(clock: Pick<Clock, 'monotonic' | 'suspendedMs'>): number {
  return clock.monotonic() + (clock.suspendedMs?.() ?? 0)
}
