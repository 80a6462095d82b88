import { formatCount, formatDuration } from '../lib/units.ts'
import type { BackupSummary } from './list-backups.ts'
import type { CommandText, ExpectedInterval, StatusFinding } from './status-finding.ts'

type Readable = Exclude<BackupSummary, { error: string }>

const DAY_MS = 86_400_000
/** After so much of the interval a commit is late; after two intervals the backup is stale. */
const LATE_FACTOR = 1.25
const STALE_FACTOR = 2
/** Clocks of two machines may differ by so much. */
const CLOCK_TOLERANCE_MS = 300_000
/** A commit from further in the future makes the state critical: by so much no clock differs that is only not synchronized yet. */
const WRONG_CLOCK_MS = 3_600_000

/** Pure. Undefined for a time in the future: a clock was wrong, and nothing is known of the age. */
export function ageOf(createdAt: string, nowMs: number): number | undefined {
  const ageMs = nowMs - Date.parse(createdAt)
  return ageMs >= -CLOCK_TOLERANCE_MS ? Math.max(0, ageMs) : undefined
}

/** Pure. A usual interval that is not stated anywhere only warns. */
export function judgeAge(
  { backup_id, created_at }: Readable,
  nowMs: number,
  expected: ExpectedInterval | undefined,
): StatusFinding[] {
  const ageMs = ageOf(created_at, nowMs)
  if (ageMs === undefined) {
    // A time that cannot be read is as wrong as one far in the future.
    const isFar = !(Date.parse(created_at) - nowMs < WRONG_CLOCK_MS)
    const level = isFar && expected && expected.source !== 'history' ? 'critical' : 'warning'
    const message = `the last commit has the time ${created_at}, which is in the future: a clock is wrong, so its age is not known`
    return [{ level, kind: 'future', message, action: `correct the clock, then run the backup ${backup_id}` }]
  }
  if (!expected || ageMs <= expected.ms * LATE_FACTOR) return []
  const isStale = ageMs > expected.ms * STALE_FACTOR
  const usual = expected.source === 'history' ? 'usually one' : 'expected one'
  const message = `the last commit is ${formatDuration(ageMs)} old, ${usual} every ${formatDuration(expected.ms)}`
  const action = `check the schedule and the log of its runs, then run the backup ${backup_id}`
  const level = isStale && expected.source !== 'history' ? 'critical' : 'warning'
  return [{ level, kind: isStale ? 'stale' : 'late', message, action }]
}

/** Pure. What the last run left out, lost or read around. */
export function judgeContent(
  { backup_id, complete, warnings, failed_sections, old_schemas_at }: Readable,
  newGaps: number,
  command: CommandText,
): StatusFinding[] {
  const repair = `if the run fails and names a damaged object, run ${command('repair')}`
  const action = `run the backup ${backup_id}: later generations do not need this object; ${repair}`
  const damaged = warnings.map((message): StatusFinding => ({ level: 'warning', kind: 'damaged', message, action }))
  const incomplete: StatusFinding = {
    level: 'warning',
    kind: 'incomplete',
    message: 'the last run was interrupted: its commit is incomplete',
    action: `run the backup ${backup_id} again`,
  }
  const gaps: StatusFinding = {
    level: 'warning',
    kind: 'new_gaps',
    message: `${formatCount(newGaps)} new ${newGaps === 1 ? 'gap' : 'gaps'}: the source lost records before they were read`,
    action: `run ${command('describe')}, and run the backup more often than records expire`,
  }
  const failed = failed_sections.map(({ section, error }): StatusFinding => {
    const message = `the last run could not read ${labels[section]}: ${error}`
    return {
      level: 'warning',
      kind: 'section_failed',
      message,
      action: `run \`kafka-backup check\` with the job of ${backup_id}`,
    }
  })
  const schemas: StatusFinding = {
    level: 'notice',
    kind: 'old_schemas',
    message: `its schemas were read at ${old_schemas_at}: the last run did not read the schema registry`,
    action: 'if records still use the registry, add it to the job of the backup',
  }
  return [
    ...damaged,
    ...(complete ? [] : [incomplete]),
    ...failed,
    ...(newGaps > 0 ? [gaps] : []),
    ...(old_schemas_at === null ? [] : [schemas]),
  ]
}

const labels: Record<Readable['failed_sections'][number]['section'], string> = {
  consumer_groups: 'committed offsets of consumer groups',
  acls: 'ACLs',
  quotas: 'client quotas',
  users: 'SCRAM users',
}

/**
 * Pure. Gaps stay in a backup for its life, so only those count that were found within a day, or since the last commit was expected: each is shown
 * until then, however many commits follow.
 */
export function countNewGaps({ found_gaps }: Readable, nowMs: number, expected: ExpectedInterval | undefined): number {
  const since = nowMs - Math.max(DAY_MS, expected?.ms ?? 0)
  return found_gaps.filter(({ found_at }) => !(Date.parse(found_at) < since)).reduce((sum, { gaps }) => sum + gaps, 0)
}
