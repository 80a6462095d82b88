import { parseDurationMs } from '../../lib/units.ts'
import { maxRoundAgeMs } from '../../observe/progress.ts'
import type { Resource } from '../crd/resource.ts'
import type { EndedRun } from '../crd/status.ts'
import type { Facts } from './facts.ts'
import { lastGood, type Runs } from './runs.ts'
import { formatTime, isFarAhead, latestSuccess, parseTime, SLACK_MS } from './times.ts'

const ROUND_MS = 60_000

/**
 * When a continuous backup last had a successful round; to the minute, because rounds are frequent. Its pod reports the time if
 * the operator can reach it. Otherwise its readiness, which the kubelet reports, proves a round of at most a known age.
 */
function lastRoundTime(facts: Facts): string | undefined {
  const { before, isContinuous, lastRoundMs, nowMs } = facts
  if (!isContinuous) return before.lastSuccessfulTime
  const passedMs = isFarAhead(facts, lastRoundMs) ? undefined : lastRoundMs
  const rounds = [passedMs, provenRoundMs(facts)].filter(ms => ms !== undefined)
  const knownMs = parseTime(before.lastSuccessfulTime)
  if (isFarAhead(facts, knownMs)) return formatTime(Math.min(nowMs, ...rounds))
  if (rounds.length === 0) return before.lastSuccessfulTime
  const roundMs = Math.min(Math.max(...rounds), nowMs)
  return knownMs === undefined || roundMs - knownMs >= ROUND_MS ? formatTime(roundMs) : before.lastSuccessfulTime
}

function provenRoundMs({ jobs, resource, nowMs }: Facts): number | undefined {
  const since = jobs.flatMap(({ isContinuous, readySinceMs }) => (isContinuous ? (readySinceMs ?? []) : []))
  return since.length === 0 ? undefined : Math.max(nowMs - roundAgeMs(resource), Math.min(...since))
}

/** The last success that the status shows: of a round or of a run. */
export function lastSuccessTime(facts: Facts, ended: readonly EndedRun[]): string | undefined {
  return latestSuccess(facts, lastRoundTime(facts), lastGood(ended))
}

/** When a continuous backup needs another reconciliation without a change. */
export function recheckForRounds(facts: Facts, { live, ended }: Runs): number[] {
  if (!facts.isContinuous || facts.isSuspended) return []
  const started = live.filter(({ purpose }) => purpose === 'main').map(({ startTime }) => parseTime(startTime))
  const times = [parseTime(lastSuccessTime(facts, ended)), ...started].filter(ms => ms !== undefined)
  const isProven = provenRoundMs(facts) !== undefined
  return [...times.map(ms => ms + roundLimitMs(facts.resource) + 1000), ...(isProven ? [facts.nowMs + ROUND_MS] : [])]
}

/** `backup.commit_interval` of a job file that does not set it. */
const DEFAULT_COMMIT_MS = 60_000

/** Maximum time without a successful round before a continuous backup is not ready. */
export function roundLimitMs(resource: Resource): number {
  return roundAgeMs(resource) + SLACK_MS
}

/** The age of the last round up to which the pod calls itself ready. */
function roundAgeMs({ spec }: Resource): number {
  const { commitInterval } = spec?.backup ?? {}
  return maxRoundAgeMs((typeof commitInterval === 'string' && parseDurationMs(commitInterval)) || DEFAULT_COMMIT_MS)
}
