import { describeHolds } from '../archive/holds.ts'
import { hasKeepRules, keptByRules } from './keep-rules.ts'
import { hasRules, type RetentionPolicy } from './policy.ts'

/** What the rules know of a backup. */
export interface RetainedBackup {
  backupId: string
  /** When its newest complete generation was made; where it has none, when its newest was. */
  timeMs: number
  hasComplete: boolean
  /** Who works with it. */
  users: readonly string[]
  /** Its generations that are held. */
  held?: readonly number[]
  /** Why it cannot be judged. */
  error?: string | undefined
}

export interface Verdict {
  backupId: string
  isKept: boolean
  /** It has grown of late, and no rule keeps it as it is: `olderThanMs` holds for its oldest segments. */
  mayCut: boolean
  /** The rules that keep it, or why it goes. */
  reasons: string[]
}

/**
 * Pure. Which of the backups stay: those that a rule keeps, and whatever the rules say the newest complete one, those in
 * use and those that cannot be read. With `olderThanMs` everything younger stays, too. All times are UTC.
 */
export function planRetention(
  backups: readonly RetainedBackup[],
  policy: RetentionPolicy,
  nowMs: number,
): Map<string, Verdict> {
  const series = policy.eachAlone ? backups.map(backup => [backup]) : [backups]
  const verdicts = series.flatMap(members => planSeries(members, policy, nowMs))
  return new Map(verdicts.map(verdict => [verdict.backupId, verdict]))
}

function planSeries(backups: readonly RetainedBackup[], policy: RetentionPolicy, nowMs: number): Verdict[] {
  const complete = backups
    .filter(({ hasComplete, error }) => hasComplete && error === undefined)
    .toSorted((a, b) => b.timeMs - a.timeMs || (a.backupId < b.backupId ? 1 : -1))
  const kept = keptByRules(complete, policy)
  return backups.map(backup => {
    const { backupId } = backup
    const reasons = [...(kept.get(backup) ?? []), ...keptAnyway(backup, complete[0], policy, nowMs)]
    // Rules keep whole backups, and the newest is always among those: only the newest may still grow.
    const mayCut = isYoung(backup, policy, nowMs) && (!kept.has(backup) || backupId === complete[0]?.backupId)
    if (reasons.length > 0) return { backupId, isKept: true, mayCut, reasons }
    return { backupId, isKept: false, mayCut: false, reasons: [whyItGoes(backup, policy)] }
  })
}

function isYoung({ timeMs }: RetainedBackup, { olderThanMs }: RetentionPolicy, nowMs: number): boolean {
  return olderThanMs !== undefined && nowMs - timeMs < olderThanMs
}

function keptAnyway(
  backup: RetainedBackup,
  newest: RetainedBackup | undefined,
  policy: RetentionPolicy,
  nowMs: number,
): string[] {
  const { backupId, timeMs, hasComplete, users, held = [], error } = backup
  if (error !== undefined) return [`it cannot be read: ${error}`]
  const reasons: string[] = []
  if (backupId === newest?.backupId) reasons.push('the newest complete one')
  // One that has failed, or is on its way, takes no place of a rule; it is of use until a newer one is complete.
  if (!hasComplete && timeMs >= (newest?.timeMs ?? 0)) reasons.push('not complete yet')
  if (isYoung(backup, policy, nowMs)) reasons.push('younger than older_than')
  if (users.length > 0) reasons.push('in use')
  if (held.length > 0) reasons.push(describeHolds(held))
  if (!hasRules(policy)) reasons.push('no rule')
  return reasons
}

function whyItGoes({ hasComplete }: RetainedBackup, policy: RetentionPolicy): string {
  if (!hasComplete) return 'never completed, and a newer one is'
  return hasKeepRules(policy) ? 'no rule keeps it' : 'older than older_than'
}
