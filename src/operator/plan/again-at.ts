import type { Facts } from './facts.ts'
import { againForLost } from './lost-pod.ts'
import type { Outcome } from './outcome.ts'
import { againForRounds } from './rounds.ts'
import type { LiveRun } from './runs.ts'

const POLL_MS = 15_000
const NAMESPACE_POLL_MS = 60_000
/** Nothing waits for a license. */
const LICENSE_POLL_MS = 5 * 60_000

/** When to look again though nothing changed. Everything else is told by a Job, a pod or the resource itself. */
export function againAt(facts: Facts, outcome: Outcome): number | undefined {
  const { nowMs, resource, isLicenseMissing, licenseTrouble } = facts
  const { runs, starts, main, verify, wait, deletion } = outcome
  const isPolled = wait?.isPolled || deletion?.isPolled || verify?.isLacking
  const { startingDeadlineSeconds } = resource.spec ?? {}
  const dueMs = main?.nextScheduleMs
  const times = [
    isPolled ? nowMs + POLL_MS : undefined,
    starts.length > 0 ? nowMs + POLL_MS : undefined,
    // The namespace may be deleted after the resource, which nothing tells.
    deletion === undefined ? undefined : nowMs + NAMESPACE_POLL_MS,
    main?.times?.nextMs,
    dueMs !== undefined && startingDeadlineSeconds !== undefined
      ? dueMs + startingDeadlineSeconds * 1000 + 1
      : undefined,
    verify?.againAtMs,
    ...runs.live.map(({ unseenUntilMs }) => unseenUntilMs),
    runs.live.some(isQuiet) ? nowMs + POLL_MS : undefined,
    ...againForLost(facts.jobs),
    ...againForRounds(facts, runs.ended),
    isLicenseMissing || licenseTrouble !== undefined ? nowMs + LICENSE_POLL_MS : undefined,
  ].filter(ms => ms !== undefined && ms > nowMs)
  return times.length > 0 ? Math.min(...times.map(Number)) : undefined
}

/** No pod of it works, and why is not known yet: that is told by the time that passes, or by what is on its way. */
function isQuiet({ jobs }: LiveRun): boolean {
  return jobs.some(({ end, running, waiting }) => !end && !waiting && running.length === 0)
}
