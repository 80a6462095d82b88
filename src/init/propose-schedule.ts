import { Cron } from 'croner'
import { usageError } from '../errors.ts'
import type { SurveyedTopic } from './propose-topics.ts'

const HOUR_MS = 3_600_000

export interface Schedule {
  /** As it was asked for. */
  text: string
  continuous: boolean
  /** Five fields, for cron and the operator; absent for a continuous backup and one without a schedule. */
  cron?: string
  /** The longest time between two runs; absent without a schedule. */
  intervalMs?: number
}

const names: Record<string, Schedule> = {
  continuous: { text: 'continuous', continuous: true },
  hourly: { text: 'hourly', continuous: false, cron: '7 * * * *', intervalMs: HOUR_MS },
  daily: { text: 'daily', continuous: false, cron: '17 2 * * *', intervalMs: 24 * HOUR_MS },
  once: { text: 'once', continuous: false },
}

export const scheduleNames = Object.keys(names)

/** `hourly`, `daily`, `continuous`, `once` or the five fields of cron, in UTC. */
export function parseSchedule(text: string): Schedule {
  const named = names[text]
  if (named) return named
  const times = nextTimes(text)
  if (times === undefined) {
    throw usageError(
      `--schedule "${text}" is not ${scheduleNames.join(', ')} or five fields of cron, such as "0 2 * * *"`,
    )
  }
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? 0))
  return { text, continuous: false, cron: text, intervalMs: Math.max(...gaps) }
}

/** From a fixed time, so that the answer does not depend on the day. Undefined for what is not a schedule. */
function nextTimes(text: string): number[] | undefined {
  try {
    const cron = new Cron(text, { mode: '5-part', timezone: 'UTC' })
    const times = cron.nextRuns(50, new Date('2024-01-01T00:00:00Z')).map(time => time.getTime())
    return times.length < 2 ? undefined : times
  } catch {
    return undefined
  }
}

export interface ScheduleProposal {
  schedule: string
  reason: string
}

/** Pure. Often enough that a run that is missed a few times loses nothing to the retention of the topics. */
export function proposeSchedule(topics: readonly SurveyedTopic[]): ScheduleProposal {
  const kept = topics.flatMap(({ name, retentionMs }) => (retentionMs === null ? [] : [{ name, retentionMs }]))
  const [shortest] = kept.toSorted((a, b) => a.retentionMs - b.retentionMs)
  if (!shortest) return { schedule: 'daily', reason: 'no topic expires records' }
  const { name, retentionMs } = shortest
  const schedule = retentionMs >= 72 * HOUR_MS ? 'daily' : retentionMs >= 3 * HOUR_MS ? 'hourly' : 'continuous'
  return { schedule, reason: `the shortest retention is ${formatHours(retentionMs)} (${name})` }
}

function formatHours(ms: number): string {
  const hours = ms / HOUR_MS
  if (hours >= 48) return `${Math.floor(hours / 24)} days`
  return hours >= 2 ? `${Math.floor(hours)} hours` : `${Math.floor(ms / 60_000)} minutes`
}
