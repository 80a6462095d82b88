import { Cron, CronPattern } from 'croner'

/** Times in milliseconds since the epoch, at whole minutes. */
export interface Schedule {
  /** The first time after this one; undefined where there is none any more. */
  next(afterMs: number): number | undefined
  /** The last time that is not after this one. */
  latest(atMs: number): number | undefined
}

type ParsedSchedule = { schedule: Schedule } | { problem: string }

const MAX_CACHED = 1000
const MAX_REMEMBERED = 8
const parsed = new Map<string, ParsedSchedule>()
/** No zone sets its clocks back by more; what they show again is looked for this far ahead. */
const MAX_SET_BACK_MS = 3 * 3_600_000
/** Leap days come within five years of it. */
const someTimeMs = Date.UTC(2024, 0, 1)

/**
 * Cron of five fields or a name such as `@daily`, in a zone of the IANA database. Where clocks change, a time that is
 * leapt over comes at the leap, and one that is shown twice comes the first time only. A schedule of every hour goes by
 * the hours that pass instead: it neither leaves one out nor makes one up.
 */
export function parseSchedule(text: string, zone = 'UTC'): ParsedSchedule {
  const key = `${zone} ${text}`
  const known = parsed.get(key)
  if (known) return known
  const made = readSchedule(text, zone)
  if (parsed.size >= MAX_CACHED) parsed.clear()
  parsed.set(key, made)
  return made
}

function readSchedule(text: string, zone: string): ParsedSchedule {
  if (!isZone(zone)) {
    return { problem: `${JSON.stringify(zone)} is not a time zone: use a name such as Europe/Vienna, or none for UTC` }
  }
  try {
    const schedule = everyHour(text) ? byHours(text, zone) : byWallClock(text, zone)
    if (schedule.next(someTimeMs) !== undefined) return { schedule: remembering(schedule) }
    return { problem: `${JSON.stringify(text)} is a date that never comes` }
  } catch (error) {
    const why = withoutClass(error instanceof Error ? error.message : String(error))
    return { problem: `${JSON.stringify(text)} is neither a cron of five fields nor a name such as @daily (${why})` }
  }
}

/** The parser of cron patterns begins its texts with the name of its class. */
function withoutClass(text: string): string {
  return text.replace(/^CronPattern: /, '')
}

/** Between two times of a schedule the answer is the same, and everybody asks for the time being. */
function remembering(schedule: Schedule): Schedule {
  let known: { fromMs: number; toMs: number }[] = []
  const around = (ms: number): { fromMs: number; toMs: number } => {
    const found = known.find(({ fromMs, toMs }) => fromMs <= ms && ms < toMs)
    if (found) return found
    const fromMs = schedule.latest(ms) ?? Number.NEGATIVE_INFINITY
    const toMs = schedule.next(ms) ?? Number.POSITIVE_INFINITY
    known = [{ fromMs, toMs }, ...known.slice(0, MAX_REMEMBERED - 1)]
    return { fromMs, toMs }
  }
  return {
    next: afterMs => finite(around(afterMs).toMs),
    latest: atMs => finite(around(atMs).fromMs),
  }
}

function finite(ms: number): number | undefined {
  return Number.isFinite(ms) ? ms : undefined
}

/** Without a name it would be the zone of this process. */
function isZone(zone: string): boolean {
  if (zone === '') return false
  try {
    toWallMs(zone, someTimeMs)
    return true
  } catch {
    return false
  }
}

/** Rejects dates, which `Cron` accepts too. */
function everyHour(text: string): boolean {
  return new CronPattern(text, undefined, { mode: '5-part' }).hour.every(isSet => isSet !== 0)
}

function byHours(text: string, zone: string): Schedule {
  const cron = cronOf(text, zone)
  return {
    next: afterMs => cron.nextRun(wholeSecond(afterMs))?.getTime(),
    latest: atMs => cron.previousRuns(1, wholeSecond(atMs + 1000))[0]?.getTime(),
  }
}

function byWallClock(text: string, zone: string): Schedule {
  const walls = byHours(text, 'UTC')
  return {
    next: afterMs => {
      for (let wall = walls.next(toWallMs(zone, afterMs)); wall !== undefined; wall = walls.next(wall)) {
        const ms = fromWallMs(zone, wall)
        if (ms > afterMs) return ms
      }
      return undefined
    },
    latest: atMs => {
      const start = toWallMs(zone, atMs) + MAX_SET_BACK_MS
      for (let wall = walls.latest(start); wall !== undefined; wall = walls.latest(wall - 1)) {
        const ms = fromWallMs(zone, wall)
        if (ms <= atMs) return ms
      }
      return undefined
    },
  }
}

/** An offset is much faster than the zone of that name. */
function cronOf(text: string, zone: string): Cron {
  const where = zone === 'UTC' ? { utcOffset: 0 } : { timezone: zone }
  return new Cron(text, { ...where, mode: '5-part', paused: true })
}

function wholeSecond(ms: number): Date {
  return new Date(Math.floor(ms / 1000) * 1000)
}

const DAY_MS = 86_400_000
const MAX_FORMATS = 1000
const formats = new Map<string, Intl.DateTimeFormat>()

/** What the clocks on the walls of a zone show, as if it were UTC. Throws a RangeError for a zone that there is not. */
function toWallMs(zone: string, ms: number): number {
  return ms + offsetMs(zone, ms)
}

/**
 * When the clocks of a zone show this. Of a time that they show twice it is the first, and of one that they leap over it
 * is the moment of the leap; so a later wall time never gives an earlier moment.
 */
function fromWallMs(zone: string, wallMs: number): number {
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
