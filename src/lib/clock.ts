import { uptime } from 'node:os'

/** The only place that reads the time or waits. Everything else is handed a Clock, so tests decide how time passes. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds of a clock that never jumps. */
  monotonic(): number
  /** Resolves after the time has passed; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls back once after the time has passed; the function returned cancels it. */
  after(ms: number, callback: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
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

const machine = { sinceBootMs: () => uptime() * 1000, monotonic: () => performance.now() }

/** A time by the monotonic clock, which does not count while the machine is suspended, with what it has missed since this call. */
export function withSuspensions(now: () => number, clocks: typeof machine = machine): () => number {
  const difference = () => clocks.sinceBootMs() - clocks.monotonic()
  const before = difference()
  return () => now() + Math.max(0, difference() - before)
}
