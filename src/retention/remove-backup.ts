import { backupNotFound, newestNumber, scanManifests } from '../archive/catalog.ts'
import { manifestCopyKey, prunedMarkKey } from '../archive/layout.ts'
import { parseLogKey } from '../archive/log/keys.ts'
import { findNewestCommit } from '../archive/log/list-commits.ts'
import { withLease } from '../archive/writer-lease.ts'
import { KafkaBackupError } from '../errors.ts'
import { formatUtc } from '../lib/clock.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import { amountOf } from './outcome.ts'
import { classify, isGraceOver } from './plan-objects.ts'
import { findUsers, type PruneContext, type PruneParts, pruneClaim } from './prune-context.ts'

/**
 * A backup that goes. First it is marked, and no command finds it any more; `prune --keep` still keeps it. When the grace
 * period is over its manifests go, the newest last, then all else, and the mark in the end: whenever this is cut short,
 * no manifest refers to removed objects, and the next prune continues. In version 2 the newest commit is what the newest manifest is.
 */
export async function removeBackup(
  context: PruneContext,
  known: { newestGeneration: number | undefined; reason: string },
  signal: AbortSignal,
): Promise<void> {
  const { parts, backupId, outcome, policy, isDryRun } = context
  const before = await scanManifests(parts.storage, backupId, signal)
  const newestGeneration = await newestNumber(parts.storage, backupId, before, signal)
  if (!before.mark && newestGeneration !== known.newestGeneration) {
    outcome.notes.push('it has a new generation since it was judged; the next prune judges it again')
    return
  }
  if (!before.mark && !isDryRun && !(await mark(context, known.reason, signal))) return
  outcome.state = 'given_up'
  const { mark: stored = before.mark } = await scanManifests(parts.storage, backupId, signal)
  const objects = await context.listObjects(signal)
  const facts = { nowMs: context.nowMs, graceMs: policy.graceMs }
  if (!isGraceOver(stored ?? { modifiedMs: facts.nowMs }, facts)) {
    outcome.waiting = amountOf(objects.filter(object => isRemovable(backupId, object)))
    return
  }
  const { gone, isProtected } = await removeManifests(context, objects, signal)
  if ((await context.users(signal)).length > 0) {
    outcome.notes.push('another process has started to use it; a later prune removes what is left of it')
    return
  }
  // What the store protects may be a manifest; then all that it names has to stay with it.
  const left = isDryRun ? 0 : (await scanManifests(parts.storage, backupId, signal)).manifests.size
  const rest = objects.filter(object => isRemovable(backupId, object) && !gone.has(object))
  if (left > 0 || isProtected) outcome.waiting = amountOf(rest)
  else await removeRest(context, objects, rest, signal)
}

/** False if another process started to use the backup at the same moment: the mark is removed again. */
async function mark(context: PruneContext, reason: string, signal: AbortSignal): Promise<boolean> {
  const { parts, backupId, lease, run, outcome } = context
  lease.assertHeld()
  const { host, toolVersion, clock } = parts
  const newestCommit = await findNewestCommit(parts.storage, backupId, signal)
  await writePrunedMark(
    parts.storage,
    {
      format: 'kafka-backup-pruned',
      format_version: 1,
      backup_id: backupId,
      run: run.run,
      host,
      tool_version: toolVersion,
      marked_at: formatUtc(clock.now()),
      reason,
      ...(newestCommit !== undefined && { newest_commit: newestCommit }),
    },
    signal,
  )
  if ((await context.users(signal)).length === 0) return true
  await parts.storage.remove(prunedMarkKey(backupId), signal)
  outcome.notes.push('skipped because it is in use')
  return false
}

interface RemovedManifests {
  /** Commits that went as well. */
  gone: Set<StoredObject>
  /** The store protects a generation of a backup of version 2, so that nothing else of it may go. */
  isProtected: boolean
}

/**
 * Oldest first: as long as the newest exists, the complete backup can be kept. Of version 2 the newest commit goes before the marker and before
 * all that it needs: a store that protects objects for some time releases it last.
 */
async function removeManifests(
  context: PruneContext,
  objects: readonly StoredObject[],
  signal: AbortSignal,
): Promise<RemovedManifests> {
  const { parts, backupId, outcome } = context
  const manifests = [...(await scanManifests(parts.storage, backupId, signal)).manifests.values()]
  const copy = await parts.storage.stat(manifestCopyKey(backupId), signal)
  if (copy) await context.remove([copy], signal)
  const ofKind = (kind: 'commit' | 'kept') => objects.filter(({ key }) => parseLogKey(backupId, key)?.kind === kind)
  const numberOf = ({ key }: StoredObject) => parseLogKey(backupId, key)?.to ?? 0
  const commits = [...ofKind('commit'), ...ofKind('kept')]
  const last = commits.reduce((most, one) => Math.max(most, numberOf(one)), 0)
  // In `kept/`, too, if the commit is damaged, or there alone if it is lost: that one goes last.
  const newest = commits.filter(one => numberOf(one) === last)
  const kept = ofKind('kept').filter(one => !newest.includes(one))
  // With commits, the last of the manifests is their marker; without the key of the backup it cannot be read.
  const marker = newest.length > 0 ? manifests.splice(-1) : []
  const gone = new Set<StoredObject>()
  const areGone = async (some: readonly StoredObject[]) => {
    for (const object of some) if ((await context.remove([object], signal)).length === 0) gone.add(object)
    return some.every(object => gone.has(object))
  }
  let isOver = await areGone([...manifests, ...kept])
  for (const one of newest) isOver &&= await areGone([one])
  if (!isOver && newest.length > 0) {
    outcome.generationsRemoved = gone.size
    return { gone, isProtected: true }
  }
  await areGone(marker)
  const numbers = new Set(commits.map(numberOf))
  outcome.generationsRemoved = manifests.length + numbers.size
  return { gone, isProtected: false }
}

async function removeRest(
  context: PruneContext,
  objects: readonly StoredObject[],
  removable: readonly StoredObject[],
  signal: AbortSignal,
): Promise<void> {
  const { parts, backupId, outcome, isDryRun } = context
  const rest = removable.filter(({ key }) => classify(backupId, key) !== 'manifest')
  const isKept = ({ key }: StoredObject) => classify(backupId, key) === 'kept'
  await context.remove(
    rest.filter(object => !isKept(object)),
    signal,
  )
  // Keys last of all: without them nothing else could be read.
  await context.remove(rest.filter(isKept), signal)
  await context.removeDeadLeases(objects, signal)
  outcome.unknown = objects.filter(({ key }) => classify(backupId, key) === 'unknown').map(({ key }) => key)
  outcome.state = 'removed'
  if (isDryRun) return
  const { manifests, mark } = await scanManifests(parts.storage, backupId, signal)
  const isAllGone = outcome.retained.objects === 0 && manifests.size === 0
  if (!isAllGone || !mark) return
  // It is the prune's own, and no part of what was planned.
  const planned = { ...outcome.removed }
  await context.remove([mark], signal)
  outcome.removed = planned
}

function isRemovable(backupId: string, { key }: StoredObject): boolean {
  return ['manifest', 'data', 'shard', 'log', 'kept'].includes(classify(backupId, key))
}

/** Marks a backup as expired. Its existence counts; the content is for people, and for who wants to keep the backup. */
interface PrunedMark {
  format: 'kafka-backup-pruned'
  format_version: 1
  backup_id: string
  run: string
  host: string
  tool_version: string
  marked_at: string
  /** Why it expired. */
  reason: string
  /** Of a backup of version 2: without it the removal has begun. */
  newest_commit?: number
}

/**
 * From now on only a prune sees the backup. Only a prune writes the mark, under its lease, so it need not be created
 * conditionally, which some stores reject if an object was removed before.
 */
async function writePrunedMark(storage: Storage, mark: PrunedMark, signal: AbortSignal): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(mark, undefined, 1)}\n`)
  await storage.replace(prunedMarkKey(mark.backup_id), bytes, signal)
}

/** Keeps an expired backup that is not yet removed. */
export async function keepExpired(backupId: string, parts: PruneParts, signal: AbortSignal): Promise<void> {
  const { storage } = parts
  await withLease(parts, pruneClaim(backupId), signal, async lease => {
    const others = lease ? await findUsers(lease, parts, signal) : []
    const other = others.find(({ role }) => role === 'prune')
    if (other) {
      throw new KafkaBackupError('WRITER_CONFLICT', `backup \`${backupId}\` is being pruned: ${other.holder}`, {
        details: { backup_id: backupId },
      })
    }
    const { manifests, mark } = await scanManifests(storage, backupId, signal)
    if (mark && manifests.size > 0 && !(await hasLostNewest(storage, backupId, mark, signal)))
      return storage.remove(mark.key, signal)
    if (!mark && manifests.size === 0) throw await backupNotFound(storage, backupId, signal)
    const [why, help] = mark
      ? ['its removal has begun', 'It cannot be restored any more; use another backup, or a copy of it.']
      : ['it has not expired', 'Nothing has to be done: no prune has marked it as expired.']
    throw new KafkaBackupError('BACKUP_NOT_FOUND', `backup \`${backupId}\` cannot be kept: ${why}`, {
      help,
      details: { backup_id: backupId },
    })
  })
}

/** Whether the removal of a backup of version 2 has begun, of which the marker may be left. */
async function hasLostNewest(
  storage: Storage,
  backupId: string,
  { key }: StoredObject,
  signal: AbortSignal,
): Promise<boolean> {
  const stated = /"newest_commit": (\d+)/.exec((await storage.read(key, signal)).toString('utf8'))?.[1]
  return stated !== undefined && ((await findNewestCommit(storage, backupId, signal)) ?? 0) < Number(stated)
}
