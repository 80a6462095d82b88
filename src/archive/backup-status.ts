import type { ErrorCode } from '../errors.ts'
import type { GenerationSummary } from './generations.ts'
import { ageOf, countNewGaps, judgeAge, judgeContent } from './judge-commits.ts'
import { judgeProofs } from './judge-proofs.ts'
import type { BackupSummary } from './list-backups.ts'
import {
  type CommandText,
  type ExpectedInterval,
  levelOf,
  type StatusFinding,
  type StatusLevel,
} from './status-finding.ts'

export interface BackupStatus {
  backup_id: string
  level: StatusLevel
  /** Null where the backup cannot be read. */
  generation: number | null
  created_at: string | null
  /** Null also where the last commit is dated in the future. */
  age_seconds: number | null
  expected_interval_seconds: number | null
  expected_interval_source: ExpectedInterval['source'] | null
  complete: boolean | null
  records: number | null
  stored_bytes: number | null
  /** Of the listed generations; null where they span less than an hour. */
  growth_bytes_per_day: number | null
  gaps: number | null
  /** Found within a day, or within the expected interval where that is longer. */
  new_gaps: number | null
  last_verified_at: string | null
  last_drilled_at: string | null
  findings: StatusFinding[]
}

export interface StatusFacts {
  summary: BackupSummary
  /** Newest first; some of the latest are enough. */
  generations: readonly GenerationSummary[]
  /** Why they could not be listed. */
  problem?: { code: ErrorCode; error: string } | undefined
  /** Of an option or a job. */
  expected?: ExpectedInterval | undefined
  /** The options of a command that name the location, such as `--path /backups`. */
  at?: string
}

type ReadGeneration = Extract<GenerationSummary, { created_at: string }>

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** So many commits show how often a backup runs. */
const HISTORY_COMMITS = 4

/** Pure. What is known of a backup, judged at a time. */
export function judgeBackup(facts: StatusFacts, nowMs: number): BackupStatus {
  const { summary, generations, problem, expected: stated, at } = facts
  const command = (name: string) => `\`kafka-backup ${[name, summary.backup_id, at].filter(part => part).join(' ')}\``
  if ('error' in summary) return unreadable(summary, command)
  const read = generations.filter((one): one is ReadGeneration => 'created_at' in one)
  const expected = stated ?? usualInterval(read)
  const ageMs = ageOf(summary.created_at, nowMs)
  const newGaps = countNewGaps(summary, nowMs, expected)
  const findings = [
    ...judgeProofs(summary, nowMs, { command, at }),
    ...judgeAge(summary, nowMs, expected),
    ...(problem ? [judgeError(problem, 'warning', command)] : []),
    ...judgeContent(summary, newGaps, command),
  ]
  const { last_verification: verified, last_drill: drilled } = summary
  return {
    backup_id: summary.backup_id,
    level: levelOf(findings),
    generation: summary.generation,
    created_at: summary.created_at,
    age_seconds: ageMs === undefined ? null : Math.floor(ageMs / 1000),
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

function unreadable(
  { backup_id, error, code }: Extract<BackupSummary, { error: string }>,
  command: CommandText,
): BackupStatus {
  return nothingKnown(backup_id, judgeError({ error, code }, 'critical', command))
}

/** Pure. What the store refuses, or does not answer, says nothing of the backup: it may be intact. */
function judgeError(
  { error: message, code }: { error: string; code: ErrorCode },
  level: 'warning' | 'critical',
  command: CommandText,
): StatusFinding {
  if (code === 'ENCRYPTION_KEY')
    return {
      level: 'warning',
      kind: 'locked',
      message: 'it is encrypted and there is no key',
      action: 'pass --key-file',
    }
  if (code === 'STORAGE_DENIED')
    return {
      level,
      kind: 'denied',
      message,
      action: 'grant this process read access to the location; nothing is known of the backup',
    }
  if (code === 'ARCHIVE_DAMAGED' || code === 'STORAGE_SHORT')
    return { level, kind: 'unreadable', message, action: `run ${command('verify')}` }
  if (code === 'ARCHIVE_TOO_NEW')
    return {
      level,
      kind: 'unreachable',
      message,
      action: 'use the version of kafka-backup that wrote it; nothing is known of the backup',
    }
  return {
    level,
    kind: 'unreachable',
    message,
    action: 'check the location and run the command again; nothing is known of the backup',
  }
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

/** The median time between complete commits, where there are enough. */
function usualInterval(generations: readonly ReadGeneration[]): ExpectedInterval | undefined {
  const times = generations.filter(({ complete }) => complete).map(({ created_at }) => Date.parse(created_at))
  if (times.length < HISTORY_COMMITS) return undefined
  const gaps = times.slice(1).map((time, at) => (times[at] ?? 0) - time)
  const ms = gaps.sort((a, b) => a - b)[gaps.length >> 1] ?? 0
  return ms > 0 ? { ms, source: 'history' } : undefined
}

/** Null for what is too short to tell. */
function growthOf(generations: readonly ReadGeneration[]): number | null {
  const [newest, oldest] = [generations[0], generations.at(-1)]
  if (!newest || !oldest) return null
  const spanMs = Date.parse(newest.created_at) - Date.parse(oldest.created_at)
  if (spanMs < HOUR_MS) return null
  return Math.round(((newest.stored_bytes - oldest.stored_bytes) / spanMs) * DAY_MS)
}
