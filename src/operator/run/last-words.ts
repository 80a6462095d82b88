import type { Clock } from '../../lib/clock.ts'
import { LeadershipLost } from '../leader/run-leader.ts'

/** Well below the grace period of the operator's pod. */
const LAST_WORDS_MS = 5000

export interface LastWords {
  signal: AbortSignal
  end(): void
}

/**
 * A signal for telling of what was done. Aborted a while after the one of the work, so that a process that is told to stop
 * does not leave half of it untold; and at once where another process may lead by now.
 */
export function startLastWords(clock: Clock, signal: AbortSignal): LastWords {
  const over = new AbortController()
  let cancel = () => {}
  const onAbort = () => {
    const abort = () => over.abort(signal.reason)
    if (signal.reason instanceof LeadershipLost) abort()
    else cancel = clock.after(LAST_WORDS_MS, abort)
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return {
    signal: over.signal,
    end: () => {
      cancel()
      signal.removeEventListener('abort', onAbort)
    },
  }
}
