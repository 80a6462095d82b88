import type { Schedule } from './schedule.ts'

interface ScheduleState {
  /** What the status says is next: no time from it on was acted on. */
  recordedMs: number | undefined
  /** The last time that a run was made for. */
  handledMs: number | undefined
  /** Where nothing is recorded: times after it count. */
  sinceMs: number
  nowMs: number
  /** How late a time may be acted on. */
  deadlineMs: number | undefined
}

export interface DueTimes {
  /** The one to make a run for. */
  dueMs: number | undefined
  /** Times that no run is made for any more, the oldest first; `missedMore` where these are not all. */
  missed: number[]
  missedMore: boolean
  /** The next one after all that have come. */
  nextMs: number | undefined
}

const MAX_MISSED = 20
/** A clock that was so far ahead was wrong: what it was late for must not hold up the schedule until it is right. */
const MAX_AHEAD_MS = 86_400_000

/** Of all times that came since the last look only the latest is due: one run makes up for those that were missed. */
export function planTimes(schedule: Schedule, state: ScheduleState): DueTimes {
  const { nowMs, deadlineMs } = state
  const fromMs = Math.max(startOf(schedule, state), believable(state.handledMs, nowMs))
  const nextMs = schedule.next(Math.max(fromMs, nowMs))
  const latestMs = schedule.latest(nowMs)
  if (latestMs === undefined || latestMs <= fromMs) return { dueMs: undefined, missed: [], missedMore: false, nextMs }
  const isTooLate = deadlineMs !== undefined && nowMs - latestMs > deadlineMs
  const missed = timesBetween(schedule, fromMs, isTooLate ? latestMs : latestMs - 1)
  return { dueMs: isTooLate ? undefined : latestMs, ...missed, nextMs }
}

/** Times up to this one were acted on, or do not count. */
function startOf(schedule: Schedule, { recordedMs, sinceMs, nowMs }: ScheduleState): number {
  if (recordedMs === undefined) return Math.min(sinceMs, nowMs)
  // A time that the schedule does not have is one of the schedule before it was changed.
  return recordedMs <= nowMs && schedule.latest(recordedMs) === recordedMs ? recordedMs - 1 : nowMs
}

function believable(handledMs: number | undefined, nowMs: number): number {
  return handledMs === undefined || handledMs > nowMs + MAX_AHEAD_MS ? Number.NEGATIVE_INFINITY : handledMs
}

function timesBetween(schedule: Schedule, afterMs: number, upToMs: number): Pick<DueTimes, 'missed' | 'missedMore'> {
  const missed: number[] = []
  for (let at = schedule.next(afterMs); at !== undefined && at <= upToMs; at = schedule.next(at)) {
    if (missed.length === MAX_MISSED) return { missed, missedMore: true }
    missed.push(at)
  }
  return { missed, missedMore: false }
}
