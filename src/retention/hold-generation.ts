import { backupNotFound, listGenerations } from '../archive/catalog.ts'
import {
  createHold,
  describeHolds,
  type HoldFacts,
  holdKey,
  listHolds,
  MAX_REASON_CHARS,
  readHold,
} from '../archive/holds.ts'
import { warnOfAvoided } from '../archive/record-warnings.ts'
import { type GenerationChoice, openSelected } from '../archive/select-generation.ts'
import { withLease } from '../archive/writer-lease.ts'
import { KafkaBackupError } from '../errors.ts'
import { formatUtc } from '../lib/clock.ts'
import type { Storage } from '../storage/storage.ts'
import { findUsers, type PruneParts } from './prune-context.ts'

export interface HoldReport {
  location: string
  backup_id: string
  generation: number
  held: boolean
  /** False where it was so before. */
  changed: boolean
  hold: HoldFacts | null
}

/**
 * Pins a generation: no prune and no delete removes it, until it is released. It works under the lease of a reader, and fails where
 * a prune or a delete is at work. One that begins later sees the lease and removes nothing, or finds the hold.
 */
export async function holdGeneration(
  backupId: string,
  { reason, ...choice }: GenerationChoice & { reason: string },
  parts: PruneParts,
  signal: AbortSignal,
): Promise<HoldReport> {
  const { storage, clock, host, toolVersion } = parts
  if (reason.length > MAX_REASON_CHARS) {
    throw new KafkaBackupError('USAGE', `the reason of a hold has at most ${MAX_REASON_CHARS} characters`)
  }
  return withLease(parts, { backupId, role: 'reader', kind: 'hold' }, signal, async lease => {
    if (!lease) throw new KafkaBackupError('STORAGE_DENIED', `no hold can be written at ${storage.location}`)
    const prune = (await findUsers(lease, parts, signal)).find(({ role }) => role === 'prune')
    if (prune) throw beingPruned(backupId, prune.holder)
    const manifest = await openSelected(storage, backupId, choice, signal)
    warnOfAvoided(manifest, parts.onProgress)
    const { generation } = manifest
    lease.assertHeld()
    const created_at = formatUtc(clock.now())
    const document = { format: 'kafka-backup-hold', format_version: 1 } as const
    const facts = { backup_id: backupId, generation, created_at, host, tool_version: toolVersion, reason }
    const changed = await createHold(storage, { ...document, ...facts }, signal)
    // While this lease is held, nothing of the backup is removed. Where it lapsed, a prune may have run since.
    lease.assertHeld()
    const hold = (await readHold(storage, backupId, generation, signal)) ?? null
    return { location: storage.location, backup_id: backupId, generation, held: true, changed, hold }
  })
}

/** Ends a hold. The generation is then kept as long as the rules say. */
export async function releaseGeneration(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<HoldReport> {
  const hold = await readHold(storage, backupId, generation, signal)
  if (!hold) throw await notHeld(storage, backupId, generation, signal)
  await storage.remove(holdKey(backupId, generation), signal)
  return { location: storage.location, backup_id: backupId, generation, held: false, changed: true, hold }
}

/** A mistyped number would leave the hold that was meant in place. */
async function notHeld(
  storage: Storage,
  backupId: string,
  generation: number,
  signal: AbortSignal,
): Promise<KafkaBackupError> {
  const { location } = storage
  const there = await listGenerations(storage, backupId, signal)
  if (there.length === 0) return backupNotFound(storage, backupId, signal)
  const isThere = there.includes(generation)
  const what = isThere ? `generation ${generation} of backup` : `there is no generation ${generation} of backup`
  const message = `${what} \`${backupId}\` at ${location}${isThere ? ' is not held' : ', and no hold on it'}`
  const held = [...(await listHolds(storage, backupId, signal))]
  const help = `Nothing was released: ${held.length === 0 ? 'no generation of the backup is held' : describeHolds(held)}.`
  return new KafkaBackupError('GENERATION_NOT_FOUND', message, { help, details: { backup_id: backupId, location } })
}

function beingPruned(backupId: string, holder: string): KafkaBackupError {
  return new KafkaBackupError('WRITER_CONFLICT', `backup \`${backupId}\` is being pruned or deleted: ${holder}`, {
    help: 'Nothing is held. Run the same command again when that process has ended.',
    details: { backup_id: backupId },
  })
}
