import type { Clock } from './clock.ts'

/** Waits for the work until the signal is aborted. An abort ends only the waiting, not the work. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    const settle = (end: () => void) => {
      signal.removeEventListener('abort', onAbort)
      end()
    }
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(
      result => settle(() => resolve(result)),
      error => settle(() => reject(error)),
    )
    if (signal.aborted) onAbort()
  })
}

/** The result of work that may never end: after the time, it fails with the error of `late`, and the work itself continues. */
export function inTime<T>(work: Promise<T>, timeoutMs: number, clock: Clock, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(timeoutMs, () => reject(late()))
    work.then(resolve, reject).finally(cancel)
  })
}

interface TimeLimit {
  signal: AbortSignal
  /** The reason of the caller's signal, or the time, where one of them is why it failed. */
  reasonOf(error: unknown): unknown
  end(): void
}

/** A signal that is aborted by another one or after the time. */
export function startTimeLimit(timeoutMs: number, clock: Clock, signal: AbortSignal): TimeLimit {
  const over = new AbortController()
  const cancel = clock.after(timeoutMs, () => over.abort(new Error(`no answer within ${Math.round(timeoutMs)} ms`)))
  const onAbort = () => over.abort(signal.reason)
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  return {
    signal: over.signal,
    reasonOf: error => (over.signal.aborted ? over.signal.reason : error),
    end: () => {
      cancel()
      signal.removeEventListener('abort', onAbort)
    },
  }
}
