const MIN_AGE_MS = 3 * 60_000
const ROUNDS = 3

/**
 * How old the last successful round of a continuous backup may become before its pod reports itself as not ready: three
 * times `backup.commit_interval`, at least three minutes.
 */
export function maxRoundAgeMs(commitIntervalMs: number): number {
  return Math.max(ROUNDS * commitIntervalMs, MIN_AGE_MS)
}
