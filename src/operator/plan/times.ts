import type { EndedRun } from '../crd/status.ts'
import type { Facts } from './facts.ts'

/** RFC 3339 in UTC, to the second; the epoch for an invalid time. */
export function formatTime(ms: number): string {
  const seconds = Math.floor(ms / 1000) * 1000
  const date = new Date(seconds)
  return `${(Number.isNaN(date.getTime()) ? new Date(0) : date).toISOString().slice(0, -5)}Z`
}

/** Times far outside the present are invalid. */
export function parseTime(text: string | undefined): number | undefined {
  const ms = text === undefined ? Number.NaN : Date.parse(text)
  return ms >= 0 && ms < endOfTimeMs ? ms : undefined
}

const endOfTimeMs = Date.UTC(3000, 0, 1)

/** The later of two times of a status. */
export function laterTime(one: string | undefined, other: string | undefined): string | undefined {
  const [oneMs, otherMs] = [parseTime(one), parseTime(other)]
  if (oneMs === undefined) return otherMs === undefined ? undefined : other
  return otherMs !== undefined && otherMs > oneMs ? other : one
}

/** The status is updated once a minute, and pods report with a delay. */
export const SLACK_MS = 2 * 60_000

/** The time of a clock that was ahead: it would hide for as long that nothing succeeds. */
export function isFarAhead({ nowMs }: Pick<Facts, 'nowMs'>, ms: number | undefined): boolean {
  return ms !== undefined && ms > nowMs + SLACK_MS
}

/**
 * The later of the success that the status shows and the end of a run. A time far ahead becomes the current time, and stays: a run counts
 * once, or it would be another success when its time has come.
 */
export function latestSuccess(facts: Facts, known: string | undefined, run: EndedRun | undefined): string | undefined {
  const now = formatTime(facts.nowMs)
  const before = isFarAhead(facts, parseTime(known)) ? now : known
  const isCounted = before !== undefined && (facts.before.history ?? []).some(one => one.run === run?.run)
  if (isCounted) return before
  return isFarAhead(facts, parseTime(run?.completionTime)) ? now : laterTime(before, run?.completionTime)
}

/** As names and keys have it: `20261116t020000z`. */
export function compactTime(ms: number): string {
  return formatTime(ms).replace(/[-:]/g, '').toLowerCase()
}

/** `20261116t0200z` */
export function compactMinute(ms: number): string {
  return compactTime(ms).replace(/..z$/, 'z')
}
