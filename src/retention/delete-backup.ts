import { newestNumber, scanManifests } from '../archive/catalog.ts'
import { backupPrefix } from '../archive/layout.ts'
import { type Lease, withLease } from '../archive/writer-lease.ts'
import { KafkaBackupError } from '../errors.ts'
import { compileGlobs } from '../lib/glob.ts'
import { BACKUP_ID_PATTERN } from '../lib/name-patterns.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import { type BackupOutcome, newOutcome } from './outcome.ts'
import { classify } from './plan-objects.ts'
import { findUsers, lookingLease, PruneContext, type PruneParts, pruneClaim } from './prune-context.ts'
import { removeBackup } from './remove-backup.ts'

export interface DeleteReport {
  location: string
  backupId: string
  isDryRun: boolean
  /** False where there was nothing of it, so that nothing had to be done. */
  isFound: boolean
  outcome: BackupOutcome
}

/** As `backup_id` of a job. Anything else would be a foreign folder, or a part of a backup. */
const backupIdRule = new RegExp(BACKUP_ID_PATTERN)

/**
 * Removes a whole backup, regardless of rules and damage: it is marked, so that no command finds it any
 * more, then its manifests go, then all else, in the order of a prune without a grace period. Cut short at any point, the
 * same call continues. Objects that belong to no backup are kept. BACKUP_IN_USE if a process uses it, BACKUP_HELD if a
 * generation of it is held.
 */
export async function deleteBackup(
  backupId: string,
  parts: PruneParts,
  { isDryRun }: { isDryRun: boolean },
  signal: AbortSignal,
): Promise<DeleteReport> {
  if (!isBackupId(backupId)) {
    throw new KafkaBackupError('USAGE', `${JSON.stringify(backupId)} is not a valid backup id`)
  }
  const objects = await listBackup(parts.storage, backupId, signal)
  const outcome = newOutcome(backupId)
  outcome.unknown = objects.filter(object => classOf(backupId, object) === 'unknown').map(({ key }) => key)
  const report = { location: parts.storage.location, backupId, isDryRun, isFound: false, outcome }
  if (outcome.unknown.length === objects.length) return report
  const act = async (lease: Lease) => {
    const context = new PruneContext({ match: [backupId], graceMs: 0 }, parts, lease, { isDryRun, outcome })
    if ((await context.users(signal)).length > 0) throw inUse(outcome)
    const reason = await context.heldReason(signal)
    if (reason !== undefined) throw held(report, reason)
    report.isFound = objects.some(object => isPart(backupId, object))
    if (report.isFound) await removeParts(context, signal)
    if (!isDryRun) await removeLeases(context, signal)
  }
  if (isDryRun) await act(lookingLease(parts, backupId))
  else {
    const claim = { ...pruneClaim(backupId), kind: 'delete' }
    await withLease(parts, claim, signal, lease => act(lease ?? lookingLease(parts, backupId)))
  }
  return report
}

/** Folders at the location whose names are ids that match. What in them is none of a backup stays. */
export async function findBackups(storage: Storage, match: readonly string[], signal: AbortSignal): Promise<string[]> {
  const isMatch = compileGlobs(match)
  const ids: string[] = []
  for await (const folder of storage.listFolders('', signal))
    if (isBackupId(folder) && isMatch(folder)) ids.push(folder)
  return ids.sort()
}

function isBackupId(id: string): boolean {
  return backupIdRule.test(id) && id !== 'offset-snapshots'
}

async function removeParts(context: PruneContext, signal: AbortSignal): Promise<void> {
  const { parts, backupId, outcome } = context
  const scanned = await scanManifests(parts.storage, backupId, signal)
  const newestGeneration = await newestNumber(parts.storage, backupId, scanned, signal)
  await removeBackup(context, { newestGeneration, reason: 'it was deleted' }, signal)
  // The report lists what the store protects; anything else that is left was written by another process meanwhile.
  if (outcome.state !== 'removed' && outcome.retained.objects === 0) throw inUse(outcome)
}

/** Removes the leases of dead processes, not those of processes that started meanwhile. */
async function removeLeases({ parts, backupId, lease }: PruneContext, signal: AbortSignal): Promise<void> {
  const living = new Set((await findUsers(lease, parts, signal)).map(({ key }) => key))
  const isDead = ({ key }: StoredObject) => !living.has(key) && runOf(key) !== lease.run
  const leases = (await listBackup(parts.storage, backupId, signal)).filter(
    object => classOf(backupId, object) === 'lease',
  )
  for (const { key } of leases.filter(isDead)) await parts.storage.remove(key, signal)
}

async function listBackup(storage: Storage, backupId: string, signal: AbortSignal): Promise<StoredObject[]> {
  const objects: StoredObject[] = []
  for await (const object of storage.list(backupPrefix(backupId), signal)) objects.push(object)
  return objects
}

function classOf(backupId: string, { key }: StoredObject) {
  return classify(backupId, key)
}

function isPart(backupId: string, object: StoredObject): boolean {
  return !['lease', 'unknown'].includes(classOf(backupId, object))
}

function runOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1).replace(/(\.\d+)?\.json$/, '')
}

function held({ backupId, location }: DeleteReport, reason: string): KafkaBackupError {
  return new KafkaBackupError('BACKUP_HELD', `backup \`${backupId}\` at ${location} is not removed: ${reason}`, {
    details: { backup_id: backupId, location },
  })
}

function inUse({ backupId, usedBy, notes }: BackupOutcome): KafkaBackupError {
  const why = usedBy.length > 0 ? usedBy.join('; ') : notes.join('; ')
  return new KafkaBackupError('BACKUP_IN_USE', `backup \`${backupId}\` is in use, and so not removed: ${why}`, {
    details: { backup_id: backupId },
  })
}
