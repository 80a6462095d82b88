import { newestState } from '../archive/catalog.ts'
import type { Manifest } from '../archive/manifest.ts'
import type { GenerationChoice } from '../archive/select-generation.ts'
import type { Lease } from '../archive/writer-lease.ts'
import type { ClusterlessJob, Job } from '../config/load-job.ts'
import { toKafkaBackupError } from '../errors.ts'
import { systemClock } from '../lib/clock.ts'
import type { DeleteReport } from '../retention/delete-backup.ts'
import type { HoldReport } from '../retention/hold-generation.ts'
import { type PruneReport, totalsOf } from '../retention/outcome.ts'
import { checkRules, type RetentionPolicy } from '../retention/policy.ts'
import type { PruneParts } from '../retention/prune-context.ts'
import type { Storage } from '../storage/storage.ts'
import { leaseParts } from './leases.ts'
import type { Hooks } from './parts.ts'

const DEFAULT_GRACE_MS = 24 * 3_600_000
const PRUNE_EVERY_MS = 3_600_000

/**
 * The rules of a job, or no rules, overridden by options. Backups are one series only where something
 * names them: what else lies at the location has nothing to do with each other.
 */
export function policyOf(job: ClusterlessJob | undefined, given: Partial<RetentionPolicy> = {}): RetentionPolicy {
  const { afterBackup: _, ...rules } = (job?.mode === 'backup' ? job.retention : undefined) ?? { afterBackup: false }
  const everything = { match: ['*'], ...(given.match === undefined && { eachAlone: true }) }
  const match = job ? { match: [job.backupId] } : everything
  return { ...match, graceMs: DEFAULT_GRACE_MS, ...rules, ...checkRules(given) }
}

/** How long a lease of the writers counts: by the job, where it is about the backup of that job alone. */
export function writerTermOf(
  job: ClusterlessJob | undefined,
  { match }: Pick<Partial<RetentionPolicy>, 'match'> = {},
): Pick<PruneParts, 'writerTtlMs'> {
  if (job?.mode !== 'backup' || (match !== undefined && !(match.length === 1 && match[0] === job.backupId))) return {}
  return { writerTtlMs: job.backup.leaseDurationMs }
}

export async function pruneAt(
  storage: Storage,
  policy: RetentionPolicy,
  hooks: Hooks,
  {
    isDryRun,
    ...own
  }: { isDryRun: boolean } & Pick<PruneParts, 'ownRuns' | 'ownBackupId' | 'ownLease' | 'trustsClock' | 'writerTtlMs'>,
  signal: AbortSignal,
): Promise<PruneReport> {
  const { runPrune } = await import('../retention/prune.ts')
  return runPrune(policy, { ...leaseParts(storage, hooks), ...own }, { isDryRun }, signal)
}

export async function keepExpiredAt(
  storage: Storage,
  backupId: string,
  hooks: Hooks,
  signal: AbortSignal,
): Promise<void> {
  const { keepExpired } = await import('../retention/remove-backup.ts')
  return keepExpired(backupId, leaseParts(storage, hooks), signal)
}

export async function deleteAt(
  storage: Storage,
  backupId: string,
  hooks: Hooks,
  { isDryRun, ...term }: { isDryRun: boolean } & Pick<PruneParts, 'writerTtlMs'>,
  signal: AbortSignal,
): Promise<DeleteReport> {
  const { deleteBackup } = await import('../retention/delete-backup.ts')
  return deleteBackup(backupId, { ...leaseParts(storage, hooks), ...term }, { isDryRun }, signal)
}

export async function holdAt(
  storage: Storage,
  backupId: string,
  wanted: GenerationChoice & { reason: string },
  hooks: Hooks,
  signal: AbortSignal,
): Promise<HoldReport> {
  const { holdGeneration } = await import('../retention/hold-generation.ts')
  return holdGeneration(backupId, wanted, leaseParts(storage, hooks), signal)
}

/** Prunes and answers with the newest generation of the job's own backup, which is another when some of it was cut off. */
export type AfterBackup = (newest: Manifest, signal: AbortSignal) => Promise<Manifest>

/** Undefined where the job does not want it. A failed prune is reported, and does not fail the backup. */
export function pruneAfterBackup(
  job: Job,
  storage: Storage,
  hooks: Hooks,
  lease: Lease | undefined,
): AfterBackup | undefined {
  if (job.mode !== 'backup' || !job.retention?.afterBackup) return undefined
  const ownRuns = new Set(lease ? [lease.run] : [])
  const own = { ownRuns, ownBackupId: job.backupId, ownLease: lease, ...writerTermOf(job) }
  let nextMs = 0
  return async (newest, signal) => {
    if (systemClock.monotonic() < nextMs) return newest
    nextMs = systemClock.monotonic() + PRUNE_EVERY_MS
    try {
      const { backups } = await pruneAt(storage, policyOf(job), hooks, { isDryRun: false, ...own }, signal)
      const { removed, ...totals } = totalsOf(backups)
      hooks.onProgress({ type: 'pruned', backups: totals.backups, segments: totals.segments, ...removed })
    } catch (error) {
      if (signal.aborted) return newest
      hooks.onProgress({ type: 'warning', message: `pruning failed: ${toKafkaBackupError(error).message}` })
    }
    return (await newestState(storage, job.backupId, signal)).manifest ?? newest
  }
}

/** For a run that has ended: what became of the newest generation is of no use any more, and no reason to fail. */
export async function pruneAtEnd(prune: AfterBackup | undefined, newest: Manifest, signal: AbortSignal): Promise<void> {
  await prune?.(newest, signal).catch(() => undefined)
}
