const DAY_MS = 86_400_000
const MAX_FORMATS = 1000
const formats = new Map<string, Intl.DateTimeFormat>()

/** What the clocks on the walls of a zone show, as if it were UTC. Throws a RangeError for a zone that there is not. */
export function toWallMs(zone: string, ms: number): number {
  return ms + offsetMs(zone, ms)
}

/**
 * When the clocks of a zone show this. Of a time that they show twice it is the first, and of one that they leap over it
 * is the moment of the leap; so a later wall time never gives an earlier moment.
 */
export function fromWallMs(zone: string, wallMs: number): number {
  const before = offsetMs(zone, wallMs - DAY_MS)
  const after = offsetMs(zone, wallMs + DAY_MS)
  const first = wallMs - Math.max(before, after)
  const second = wallMs - Math.min(before, after)
  if (toWallMs(zone, first) === wallMs) return first
  if (toWallMs(zone, second) === wallMs) return second
  return findLeap(zone, first, second)
}

/** The first moment after `fromMs`, up to `toMs`, that has another offset: transitions are at whole seconds. */
function findLeap(zone: string, fromMs: number, toMs: number): number {
  const old = offsetMs(zone, fromMs)
  let [low, high] = [fromMs, toMs]
  while (high - low > 1000) {
    const middle = low + Math.floor((high - low) / 2000) * 1000
    if (offsetMs(zone, middle) === old) low = middle
    else high = middle
  }
  return high
}

function offsetMs(zone: string, ms: number): number {
  const seconds = Math.floor(ms / 1000) * 1000
  const shown: Record<string, number> = {}
  for (const { type, value } of formatOf(zone).formatToParts(seconds)) shown[type] = Number.parseInt(value, 10)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown
  return Date.UTC(year, month - 1, day, hour, minute, second) - seconds
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known) return known
  const fields = { year: 'numeric', month: 'numeric', day: 'numeric' } as const
  const times = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, ...fields, ...times })
  if (formats.size >= MAX_FORMATS) formats.clear()
  formats.set(zone, format)
  return format
}
