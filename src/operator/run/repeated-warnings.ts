import type { Clock } from '../../lib/clock.ts'

/** Longer than the time between two failures of a broken watch. */
const SAME_TROUBLE_MS = 5 * 60_000
const MAX_KNOWN = 1000

/** The level of a problem: a warning when it is new, has changed, or is back after a while; debug while it only repeats. */
export function openLevels(clock: Clock): (about: string, text: string) => 'debug' | 'warn' {
  const logged = new Map<string, { text: string; lastMs: number }>()
  return (about, text) => {
    const before = logged.get(about)
    const lastMs = clock.monotonic()
    logged.delete(about)
    logged.set(about, { text, lastMs })
    if (logged.size > MAX_KNOWN) for (const [oldest] of logged.entries().take(1)) logged.delete(oldest)
    return before?.text === text && lastMs - before.lastMs < SAME_TROUBLE_MS ? 'debug' : 'warn'
  }
}
