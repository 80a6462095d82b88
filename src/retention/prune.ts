import { type Lease, withLease } from '../archive/writer-lease.ts'
import { hasCode } from '../errors.ts'
import { findClockDoubt } from './clock-doubt.ts'
import { type BackupOutcome, describeBackup, describeClockDoubt, type PruneReport } from './outcome.ts'
import { planRetention, type RetainedBackup, type Verdict } from './plan-retention.ts'
import { notesOf, type RetentionPolicy } from './policy.ts'
import { lookingLease, ownNow, PruneContext, type PruneParts, pruneClaim } from './prune-context.ts'
import { removeBackup } from './remove-backup.ts'
import { commitTimeMs, type SurveyedBackup, surveyLocation } from './survey.ts'
import { tidyBackup } from './tidy-backup.ts'

/**
 * Judges the backups at a location by the rules and removes what they do not keep, and in those that stay what nothing
 * needs any more. A dry run takes the same steps, and counts what they would do. A backup that fails is reported with
 * its reason, and the others follow.
 */
export async function runPrune(
  policy: RetentionPolicy,
  parts: PruneParts,
  { isDryRun }: { isDryRun: boolean },
  signal: AbortSignal,
): Promise<PruneReport> {
  const { ownRuns = new Set<string>(), writerTtlMs } = parts
  const facts = { nowMs: parts.clock.now(), ownRuns, writerTtlMs }
  const surveyed = await surveyLocation(parts.storage, policy.match, facts, signal)
  const judged = surveyed.filter(({ mark, newest, error }) => !mark && (newest || error))
  const verdicts = planRetention(
    judged.map(one => factsOf(one, one.backupId === parts.ownBackupId)),
    policy,
    ownNow(parts, facts.nowMs),
  )
  const backups: BackupOutcome[] = []
  const doubts: Doubt[] = []
  for (const backup of surveyed) {
    const outcome = describeBackup(backup, verdicts.get(backup.backupId))
    backups.push(outcome)
    const isIdle = backup.error !== undefined && !backup.mark
    if (!isIdle)
      await pruneOne(backup, verdicts.get(backup.backupId), policy, parts, { isDryRun, outcome, doubts }, signal)
  }
  const [first] = doubts
  const report = {
    location: parts.storage.location,
    isDryRun,
    graceMs: policy.graceMs,
    backups,
    notes: notesOf(policy, judged.length),
    ...(first && { clockDoubt: first.reason, doubtedBackups: doubts.map(({ backupId }) => backupId) }),
  }
  const message = describeClockDoubt(report)
  if (message !== undefined) parts.onProgress({ type: 'warning', message })
  return report
}

interface Doubt {
  backupId: string
  reason: string
}

function factsOf(backup: SurveyedBackup, isOwn: boolean): RetainedBackup {
  const { backupId, newestComplete, held, leases, error } = backup
  return {
    backupId,
    timeMs: timeOf(backup),
    hasComplete: newestComplete !== undefined,
    users: [...leases.map(({ holder }) => holder), ...(isOwn ? ['this process'] : [])],
    held: [...held],
    error: error?.message,
  }
}

function timeOf({ newest, newestComplete, manifests }: SurveyedBackup): number {
  const manifest = newestComplete ?? newest
  return commitTimeMs(manifest?.created_at ?? '', manifests.get(manifest?.generation ?? 0)?.modifiedMs)
}

type Step = { isDryRun: boolean; outcome: BackupOutcome; doubts: Doubt[] }

async function pruneOne(
  backup: SurveyedBackup,
  verdict: Verdict | undefined,
  policy: RetentionPolicy,
  parts: PruneParts,
  step: Step,
  signal: AbortSignal,
): Promise<void> {
  const { backupId } = backup
  if (!verdict && !backup.mark) return
  const act = async (lease: Lease) => {
    const context = new PruneContext(
      verdict?.mayCut ? policy : { ...policy, olderThanMs: undefined },
      parts,
      lease,
      step,
    )
    if (await isBusy(context, verdict?.isKept === true, signal)) return
    const reason = await findClockDoubt(backup, context, signal)
    if (reason !== undefined) {
      step.doubts.push({ backupId, reason })
      if (verdict?.isKept) step.outcome.state = 'kept'
      return
    }
    if (verdict?.isKept) return tidyBackup(context, signal)
    const held = await context.heldReason(signal)
    if (held !== undefined) return void step.outcome.notes.push(`not removed: ${held}`)
    const known = { newestGeneration: backup.newest?.generation, reason: verdict?.reasons.join(', ') ?? '' }
    return removeBackup(context, known, signal)
  }
  try {
    if (step.isDryRun) await act(lookingLease(parts, backupId))
    else {
      await withLease(parts, pruneClaim(backupId), signal, lease => act(lease ?? lookingLease(parts, backupId)))
    }
  } catch (error) {
    // A backup that cannot be pruned, because of another writer or damage, does not fail the others.
    const isItsOwn = hasCode(error, 'WRITER_CONFLICT', 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW', 'STORAGE_EXISTS')
    if (signal.aborted || !isItsOwn) throw error
    step.outcome.notes.push(`left as it is: ${error.message}`)
  }
}

/** A writer, or another prune, has the backup to itself; one that goes must have no readers either. */
async function isBusy(context: PruneContext, isKept: boolean, signal: AbortSignal): Promise<boolean> {
  const users = await context.users(signal)
  const isBlocked = users.some(({ role }) => !isKept || role !== 'reader')
  if (isBlocked) context.outcome.notes.push('skipped because it is in use')
  if (isBlocked && isKept) context.outcome.state = 'kept'
  return isBlocked
}
