import { Cron } from 'croner'

const HOUR_MS = 3_600_000

/** Eight days of a schedule that runs within every hour, and longer where it runs less often. */
const MAX_STEPS = 200
const HORIZON_MS = 400 * 24 * HOUR_MS

/**
 * The longest time between two runs that follow each other, nights and weekends of a schedule for office hours included;
 * undefined for one that cannot be understood. It is in UTC: where clocks change, that is an hour more or less. A pause
 * of a schedule that otherwise runs within every hour may be an hour too long.
 */
export function planExpectedInterval(schedule: string, fromMs: number): number | undefined {
  try {
    return findLongestMs(new Cron(schedule, { paused: true, utcOffset: 0 }), fromMs) / 1000 || undefined
  } catch {
    // Nothing runs by it: the status of the resource says why.
    return undefined
  }
}

function findLongestMs(cron: Cron, fromMs: number): number {
  let atMs = nextMs(cron, fromMs)
  let longestMs = 0
  for (let step = 0; step < MAX_STEPS && atMs - fromMs < HORIZON_MS; step++) {
    const shortMs = nextMs(cron, atMs) - atMs
    const farMs = nextMs(cron, atMs + HOUR_MS - 1000) - atMs
    longestMs = Math.max(longestMs, farMs <= HOUR_MS + shortMs ? shortMs : farMs)
    atMs += farMs
  }
  return longestMs
}

function nextMs(cron: Cron, afterMs: number): number {
  const next = cron.nextRun(new Date(afterMs))
  if (next === null) throw new RangeError('the schedule has an end')
  return next.getTime()
}
