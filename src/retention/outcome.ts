import { totalsOf as manifestTotals } from '../archive/summary.ts'
import type { StoredObject } from '../storage/storage.ts'
import type { KeptGeneration } from './plan-generations.ts'
import type { Verdict } from './plan-retention.ts'
import type { SurveyedBackup } from './survey.ts'

export interface Amount {
  objects: number
  bytes: number
}

/** What became of a backup, or what would in a plan. */
export interface BackupOutcome {
  backupId: string
  /**
   * `kept`: it stays; what nothing needs of it may have gone. `given_up`: it waits for the end of its grace period.
   * `removed`: everything that the store does not protect is removed. `left`: it was not touched at all.
   */
  state: 'kept' | 'given_up' | 'removed' | 'left'
  reasons: string[]
  /** Of its newest complete generation, else of its newest. */
  createdAt: string | null
  /** Of its newest generation. */
  storedBytes: number
  usedBy: string[]
  /** Leading segments that its newest generation does not name any more. */
  trimmed: { partitions: number; segments: number; records: number; bytes: number }
  generationsRemoved: number
  /** Generations that `generations` of the policy keeps, with the rules that do. */
  generationsKept: KeptGeneration[]
  removed: Amount
  /** Nothing needs them; they go when their grace period is over. */
  waiting: Amount
  /** The store protects them for some time yet. */
  retained: Amount
  /** Objects that are none of a backup; they are left. */
  unknown: string[]
  notes: string[]
}

export interface PruneReport {
  location: string
  isDryRun: boolean
  graceMs: number
  backups: BackupOutcome[]
  notes: string[]
  /** Why nothing was removed from some of the backups; absent where the clock of this machine was not in doubt. */
  clockDoubt?: string
  /** The ids of these backups. */
  doubtedBackups?: string[]
}

export interface PruneTotals {
  /** Expired or removed by this run. */
  backups: number
  segments: number
  generations: number
  removed: Amount
  waiting: Amount
  retained: Amount
}

export function newOutcome(backupId: string): BackupOutcome {
  return {
    backupId,
    state: 'left',
    reasons: [],
    createdAt: null,
    storedBytes: 0,
    usedBy: [],
    trimmed: { partitions: 0, segments: 0, records: 0, bytes: 0 },
    generationsRemoved: 0,
    generationsKept: [],
    removed: nothing(),
    waiting: nothing(),
    retained: nothing(),
    unknown: [],
    notes: [],
  }
}

/** Pure. Of a backup with which nothing has been done yet. */
export function describeBackup(
  { backupId, newest, newestComplete, mark, leases }: SurveyedBackup,
  verdict: Verdict | undefined,
): BackupOutcome {
  return {
    ...newOutcome(backupId),
    reasons: verdict?.reasons ?? [mark ? 'expired before' : 'nothing was ever committed to it'],
    createdAt: (newestComplete ?? newest)?.created_at ?? null,
    storedBytes: newest ? manifestTotals(newest.topics).stored_bytes : 0,
    usedBy: leases.map(({ holder }) => holder),
  }
}

export function amountOf(objects: readonly Pick<StoredObject, 'size'>[]): Amount {
  return { objects: objects.length, bytes: objects.reduce((sum, { size }) => sum + size, 0) }
}

/** Of the segments that are cut off. */
export function trimmedOf(
  partitions: number,
  segments: readonly { records: number; size: number }[],
): BackupOutcome['trimmed'] {
  return {
    partitions,
    segments: segments.length,
    records: segments.reduce((sum, { records }) => sum + records, 0),
    bytes: segments.reduce((sum, { size }) => sum + size, 0),
  }
}

export function totalsOf(backups: readonly BackupOutcome[]): PruneTotals {
  const sum = (pick: (one: BackupOutcome) => number) => backups.reduce((total, one) => total + pick(one), 0)
  const sumOf = (pick: (one: BackupOutcome) => Amount) => ({
    objects: sum(one => pick(one).objects),
    bytes: sum(one => pick(one).bytes),
  })
  return {
    backups: backups.filter(({ state }) => state === 'given_up' || state === 'removed').length,
    segments: sum(one => one.trimmed.segments),
    generations: sum(one => one.generationsRemoved),
    removed: sumOf(one => one.removed),
    waiting: sumOf(one => one.waiting),
    retained: sumOf(one => one.retained),
  }
}

const MAX_NAMED = 5

/** Pure. From which backups nothing was removed and why; undefined where the clock of this machine was not in doubt. */
export function describeClockDoubt({ backups, clockDoubt, doubtedBackups = [] }: PruneReport): string | undefined {
  if (clockDoubt === undefined) return undefined
  const isAll = doubtedBackups.length === 0 || doubtedBackups.length === backups.length
  const named = doubtedBackups.slice(0, MAX_NAMED).join(', ')
  const more = doubtedBackups.length > MAX_NAMED ? ` and ${doubtedBackups.length - MAX_NAMED} more` : ''
  const where = isAll ? '' : ` from the backup${doubtedBackups.length > 1 ? 's' : ''} ${named}${more}`
  return `nothing is removed${where}, because ${clockDoubt}`
}

/** Pure. Two runs as one: what both have removed, and the state after the second. */
export function addReports(first: PruneReport, second: PruneReport): PruneReport {
  const before = new Map(first.backups.map(one => [one.backupId, one]))
  const after = new Map(second.backups.map(one => [one.backupId, one]))
  const gone = first.backups.filter(({ backupId }) => !after.has(backupId))
  const backups = second.backups.map(one => {
    const earlier = before.get(one.backupId)
    return earlier ? addOutcomes(earlier, one) : one
  })
  return { ...second, backups: [...gone, ...backups].sort((a, b) => (a.backupId < b.backupId ? -1 : 1)) }
}

function addOutcomes(first: BackupOutcome, second: BackupOutcome): BackupOutcome {
  const { partitions, segments, records, bytes } = first.trimmed
  return {
    ...second,
    // A backup that the first run has expired is known to the second one only as that.
    reasons: first.state === 'given_up' ? first.reasons : second.reasons,
    trimmed: {
      partitions: Math.max(partitions, second.trimmed.partitions),
      segments: segments + second.trimmed.segments,
      records: records + second.trimmed.records,
      bytes: bytes + second.trimmed.bytes,
    },
    generationsRemoved: first.generationsRemoved + second.generationsRemoved,
    removed: {
      objects: first.removed.objects + second.removed.objects,
      bytes: first.removed.bytes + second.removed.bytes,
    },
  }
}

function nothing(): Amount {
  return { objects: 0, bytes: 0 }
}
