import { formatAgo, formatCount, formatDuration } from '../lib/units.ts'
import { failedDrillOf } from './drill-record.ts'
import type { GenerationSummary } from './generations.ts'
import type { BackupSummary } from './list-backups.ts'
import { damageOf, repeatingCommand } from './verification.ts'

export const statusLevels = ['ok', 'warning', 'critical'] as const
export type StatusLevel = (typeof statusLevels)[number]

/** A fact that needs an action, or that is worth knowing. */
export interface StatusFinding {
  /** `notice` has no effect on the level. */
  level: 'notice' | 'warning' | 'critical'
  kind: FindingKind
  message: string
  action: string
}

export type FindingKind =
  | 'missing'
  | 'unreadable'
  | 'locked'
  | 'damaged'
  | 'stale'
  | 'late'
  | 'incomplete'
  | 'new_gaps'
  | 'drill_failed'
  | 'drill_unknown'
  | 'not_verified'
  | 'not_drilled'

/** How often a backup is expected to commit. */
export interface ExpectedInterval {
  ms: number
  /** `history` is the usual time between its commits. */
  source: 'option' | 'job' | 'history'
}

export interface BackupStatus {
  backup_id: string
  level: StatusLevel
  /** Null where the backup cannot be read. */
  generation: number | null
  created_at: string | null
  age_seconds: number | null
  expected_interval_seconds: number | null
  expected_interval_source: ExpectedInterval['source'] | null
  complete: boolean | null
  records: number | null
  stored_bytes: number | null
  /** Of the listed generations; null where they span less than an hour. */
  growth_bytes_per_day: number | null
  gaps: number | null
  /** Since a day before the latest generation. */
  new_gaps: number | null
  last_verified_at: string | null
  last_drilled_at: string | null
  findings: StatusFinding[]
}

export interface StatusFacts {
  summary: BackupSummary
  /** Newest first; some of the latest are enough. */
  generations: readonly GenerationSummary[]
  /** Of an option or a job. */
  expected?: ExpectedInterval | undefined
  /** The options of a command that name the location, such as `--path /backups`. */
  at?: string
}

type Readable = Exclude<BackupSummary, { error: string }>
type ReadGeneration = Extract<GenerationSummary, { created_at: string }>

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** After so much of the interval a commit is late; after two intervals the backup is stale. */
const LATE_FACTOR = 1.25
const STALE_FACTOR = 2
/** So many commits show how often a backup runs. */
const HISTORY_COMMITS = 4
/** Every byte should be read, and a restore tried, so often. */
const PROOF_DAYS = 30

/** Pure. What is known of a backup, judged at a time. */
export function judgeBackup({ summary, generations, expected: stated, at }: StatusFacts, nowMs: number): BackupStatus {
  const command = (name: string) => `\`kafka-backup ${[name, summary.backup_id, at].filter(part => part).join(' ')}\``
  if ('error' in summary) return unreadable(summary, command)
  const read = generations.filter((one): one is ReadGeneration => 'created_at' in one)
  const expected = stated ?? usualInterval(read)
  const ageMs = Math.max(0, nowMs - Date.parse(summary.created_at))
  const newGaps = countNewGaps(summary, read)
  const findings = [
    ...judgeProofs(summary, nowMs, { command, at }),
    ...judgeAge(summary, ageMs, expected),
    ...judgeContent(summary, newGaps, command),
  ]
  const { last_verification: verified, last_drill: drilled } = summary
  return {
    backup_id: summary.backup_id,
    level: levelOf(findings),
    generation: summary.generation,
    created_at: summary.created_at,
    age_seconds: Math.floor(ageMs / 1000),
    expected_interval_seconds: expected ? Math.round(expected.ms / 1000) : null,
    expected_interval_source: expected?.source ?? null,
    complete: summary.complete,
    records: summary.records,
    stored_bytes: summary.stored_bytes,
    growth_bytes_per_day: growthOf(read),
    gaps: summary.gaps,
    new_gaps: newGaps,
    last_verified_at: verified && 'finished_at' in verified ? verified.finished_at : null,
    last_drilled_at: drilled && 'finished_at' in drilled ? drilled.finished_at : null,
    findings,
  }
}

/** The text of a command about the backup, with its location. */
type CommandText = (name: string) => string

function unreadable(
  { backup_id, error, code }: Extract<BackupSummary, { error: string }>,
  command: CommandText,
): BackupStatus {
  const isLocked = code === 'ENCRYPTION_KEY'
  const finding: StatusFinding = isLocked
    ? { level: 'warning', kind: 'locked', message: 'it is encrypted and there is no key', action: 'pass --key-file' }
    : { level: 'critical', kind: 'unreadable', message: error, action: `run ${command('verify')}` }
  return nothingKnown(backup_id, finding)
}

/** Pure. The status of a backup that a job names and that is not at its location. */
export function missingBackup(backupId: string): BackupStatus {
  const message = 'there is no such backup at the location'
  return nothingKnown(backupId, {
    level: 'critical',
    kind: 'missing',
    message,
    action: 'run its job, or check its log',
  })
}

function nothingKnown(backup_id: string, finding: StatusFinding): BackupStatus {
  const unknown = { generation: null, created_at: null, age_seconds: null, complete: null, records: null }
  const more = { stored_bytes: null, growth_bytes_per_day: null, gaps: null, new_gaps: null }
  return {
    backup_id,
    level: levelOf([finding]),
    ...unknown,
    expected_interval_seconds: null,
    expected_interval_source: null,
    ...more,
    last_verified_at: null,
    last_drilled_at: null,
    findings: [finding],
  }
}

function levelOf(findings: readonly StatusFinding[]): StatusLevel {
  return worst(findings.map(({ level }) => (level === 'notice' ? 'ok' : level)))
}

/** Pure. The most severe; `ok` of none. */
export function worst(levels: readonly StatusLevel[]): StatusLevel {
  return statusLevels.findLast(level => levels.includes(level)) ?? 'ok'
}

/** The median time between complete commits, where there are enough. */
function usualInterval(generations: readonly ReadGeneration[]): ExpectedInterval | undefined {
  const times = generations.filter(({ complete }) => complete).map(({ created_at }) => Date.parse(created_at))
  if (times.length < HISTORY_COMMITS) return undefined
  const gaps = times.slice(1).map((time, at) => (times[at] ?? 0) - time)
  const ms = gaps.sort((a, b) => a - b)[gaps.length >> 1] ?? 0
  return ms > 0 ? { ms, source: 'history' } : undefined
}

/** A usual interval that is not stated anywhere only warns. */
function judgeAge({ backup_id }: Readable, ageMs: number, expected: ExpectedInterval | undefined): StatusFinding[] {
  if (!expected || ageMs <= expected.ms * LATE_FACTOR) return []
  const isStale = ageMs > expected.ms * STALE_FACTOR
  const usual = expected.source === 'history' ? 'usually one' : 'expected one'
  const message = `the last commit is ${formatDuration(ageMs)} old, ${usual} every ${formatDuration(expected.ms)}`
  const action = `check the schedule and the log of its runs, then run the backup ${backup_id}`
  const level = isStale && expected.source !== 'history' ? 'critical' : 'warning'
  return [{ level, kind: isStale ? 'stale' : 'late', message, action }]
}

function judgeContent(
  { backup_id, complete, warnings }: Readable,
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
  return [...damaged, ...(complete ? [] : [incomplete]), ...(newGaps > 0 ? [gaps] : [])]
}

/** A drill of a job needs the job file of a restore. */
function drillAction({ backup_id }: Readable, at = ''): string {
  if (!at.startsWith('--path')) return 'run `kafka-backup drill` with the job file of a restore'
  return `run \`kafka-backup drill --backup-id ${backup_id} ${at} --target <brokers>\``
}

function judgeProofs(
  summary: Readable,
  nowMs: number,
  { command, at }: { command: CommandText; at: string | undefined },
): StatusFinding[] {
  const { last_deep_verification: deep } = summary
  const damage = damageOf(summary)
  const findings: StatusFinding[] = []
  if (damage) {
    const message = `a verification found damage ${formatAgo(damage.finished_at, nowMs)}`
    findings.push({
      level: 'critical',
      kind: 'damaged',
      message,
      action: `run ${command(repeatingCommand({ ...damage, deep: true }))}`,
    })
  } else if (!deep || ('finished_at' in deep && isOldProof(deep.finished_at, nowMs))) {
    const message = deep ? `no byte was read for ${PROOF_DAYS} days` : 'its bytes were never verified'
    findings.push({
      level: 'notice',
      kind: 'not_verified',
      message,
      action: `run ${command('verify --deep')}`,
    })
  }
  return [...findings, ...judgeDrills(summary, nowMs, { command, at })]
}

function judgeDrills(
  summary: Readable,
  nowMs: number,
  { command, at }: { command: CommandText; at: string | undefined },
): StatusFinding[] {
  const { last_proven_drill: proven, last_failed_drill: open } = summary
  const failed = failedDrillOf(summary)
  if (failed) {
    const which = failed === summary.last_drill ? 'the last drill' : 'a drill whose part no later one has proven'
    const message = `${which}, ${formatAgo(failed.finished_at, nowMs)}, did not prove the backup (${failed.scope})`
    const action = `${command('describe')} shows it; read the report in its evidence`
    return [{ level: 'critical', kind: 'drill_failed', message, action }]
  }
  if (open && 'error' in open) {
    const message = `the result of a drill cannot be read: ${open.error}`
    return [{ level: 'warning', kind: 'drill_unknown', message, action: drillAction(summary, at) }]
  }
  if (proven && !('finished_at' in proven && isOldProof(proven.finished_at, nowMs))) return []
  const message = proven ? `no successful drill for ${PROOF_DAYS} days` : 'never proven by a drill'
  return [{ level: 'notice', kind: 'not_drilled', message, action: drillAction(summary, at) }]
}

function isOldProof(time: string, nowMs: number): boolean {
  return nowMs - Date.parse(time) > PROOF_DAYS * DAY_MS
}

/** Gaps stay in a backup for its life, so only those of the last day count. */
function countNewGaps({ gaps, created_at }: Readable, generations: readonly ReadGeneration[]): number {
  const since = Date.parse(created_at) - DAY_MS
  const before = generations.find(one => Date.parse(one.created_at) <= since) ?? generations.at(-1)
  return before ? Math.max(0, gaps - before.gaps) : 0
}

/** Null for what is too short to tell. */
function growthOf(generations: readonly ReadGeneration[]): number | null {
  const [newest, oldest] = [generations[0], generations.at(-1)]
  if (!newest || !oldest) return null
  const spanMs = Date.parse(newest.created_at) - Date.parse(oldest.created_at)
  if (spanMs < HOUR_MS) return null
  return Math.round(((newest.stored_bytes - oldest.stored_bytes) / spanMs) * DAY_MS)
}
