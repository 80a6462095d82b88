import type { EndedRun } from '../crd/status.ts'
import { type Facts, historyOf } from './facts.ts'
import { formatTime, laterTime, parseTime } from './times.ts'

/** The status is updated once a minute, and pods report with a delay. */
export const SLACK_MS = 2 * 60_000

/** The time of a clock that was ahead: it would hide for as long that nothing succeeds. */
export function isFarAhead({ nowMs }: Pick<Facts, 'nowMs'>, ms: number | undefined): boolean {
  return ms !== undefined && ms > nowMs + SLACK_MS
}

/** The later of the success that the status shows and the end of a run. One far ahead becomes the current time once, and stays. */
export function latestSuccess(facts: Facts, known: string | undefined, run: EndedRun | undefined): string | undefined {
  const now = formatTime(facts.nowMs)
  const before = isFarAhead(facts, parseTime(known)) ? now : known
  if (!isFarAhead(facts, parseTime(run?.completionTime))) return laterTime(before, run?.completionTime)
  const isCounted = before !== undefined && historyOf(facts.before).some(one => one.run === run?.run)
  return isCounted ? before : now
}
