import type { RestoreJob } from '../../config/load-job.ts'
import { formatUtc } from '../../lib/clock.ts'

type Job = Pick<RestoreJob, 'restore'>

/** The time window of a restore; undefined without one. */
export function formatWindow({ restore: { timeWindowStartMs: start, timeWindowEndMs: end } }: Job): string | undefined {
  if (start === undefined && end === undefined) return undefined
  const from = start === undefined ? '' : `from ${instant(start)} (inclusive)`
  const to = end === undefined ? '' : `to ${instant(end)} (exclusive)`
  return `only records ${[from, to].filter(part => part !== '').join(' ')}`
}

export function windowDocument({ restore: { timeWindowStartMs: start, timeWindowEndMs: end } }: Job) {
  if (start === undefined && end === undefined) return null
  return { start: start === undefined ? null : instant(start), end: end === undefined ? null : instant(end) }
}

/** Times of a job are dates, so they fit into a number. */
function instant(ms: bigint): string {
  return formatUtc(Number(ms))
}
