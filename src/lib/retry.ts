import { type Clock, systemClock } from './clock.ts'

export interface RetryPolicy {
  /** Tries in all, the first one included. */
  attempts: number
  baseDelayMs: number
  maxDelayMs: number
}

interface RetryParts {
  isRetryable: (error: unknown) => boolean
  clock?: Clock
  /** A number in [0, 1): spreads out clients that failed together. */
  random?: () => number
  /** How long the other side asked to wait after this error; the delay is not shorter. */
  leastDelayMs?: (error: unknown) => number
  onRetry?: (error: unknown, attempt: number, delayMs: number) => void
}

/** Calls until it succeeds, the error is final, or the attempts are used up; then throws the last error. */
export async function retry<T>(
  call: (attempt: number) => Promise<T>,
  policy: RetryPolicy,
  parts: RetryParts,
  signal?: AbortSignal,
): Promise<T> {
  const { clock = systemClock, random = Math.random } = parts
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    try {
      return await call(attempt)
    } catch (error) {
      if (signal?.aborted || attempt >= policy.attempts || !parts.isRetryable(error)) throw error
      const delayMs = Math.max(backoffMs(attempt, policy, random()), parts.leastDelayMs?.(error) ?? 0)
      parts.onRetry?.(error, attempt, delayMs)
      await clock.sleep(delayMs, signal)
    }
  }
}

/** Exponential with jitter over the upper half, so that a delay never collapses to nothing. */
export function backoffMs(attempt: number, policy: RetryPolicy, random: number): number {
  const ceiling = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1))
  return Math.round(ceiling * (0.5 + random / 2))
}
