import { parseDurationMs } from '../../lib/units.ts'
import { maxRoundAgeMs } from '../../observe/round-age.ts'
import type { Resource } from '../resource/resource.ts'

/** `backup.commit_interval` of a job file that does not set it. */
const DEFAULT_COMMIT_MS = 60_000
/** The status is renewed once a minute, and a pod reports with a delay of its own. */
const SLACK_MS = 2 * 60_000

/** How long a continuous backup may be without a successful round before it is not ready any more. */
export function roundLimitMs(resource: Resource): number {
  return roundAgeMs(resource) + SLACK_MS
}

/** The age of the last round up to which the pod calls itself ready. */
export function roundAgeMs({ spec }: Resource): number {
  const { commitInterval } = spec?.backup ?? {}
  return maxRoundAgeMs((typeof commitInterval === 'string' && parseDurationMs(commitInterval)) || DEFAULT_COMMIT_MS)
}
