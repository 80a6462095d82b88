/** Quotas ask for minutes at most. The field could ask for 24 days, in which a run would look dead. */
const MAX_THROTTLE_MS = 3_600_000

/** How long the next request waits after an answer with this throttle time. */
export function throttleWaitMs(throttleMs: number): number {
  return Math.min(Math.max(throttleMs, 0), MAX_THROTTLE_MS)
}
