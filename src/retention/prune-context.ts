import { describeHolds, listHolds } from '../archive/holds.ts'
import { backupPrefix } from '../archive/layout.ts'
import {
  ageOf,
  type FoundLease,
  isBelieved,
  LONGEST_TTL_MS,
  leadOf,
  PRUNE_TTL_MS,
  readLiveLeases,
} from '../archive/lease.ts'
import type { Lease, LeaseClaim, LeaseParts } from '../archive/writer-lease.ts'
import { hasCode } from '../errors.ts'
import { runPool } from '../lib/pool.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import type { BackupOutcome } from './outcome.ts'
import { classify } from './plan-objects.ts'
import type { RetentionPolicy } from './policy.ts'

export interface PruneParts extends LeaseParts {
  /** Leases of this very process, which are not in its own way. */
  ownRuns?: ReadonlySet<string>
  /** The backup that this very process writes: it is in use, whatever its lease says by the clock of this machine. */
  ownBackupId?: string
  /** The lease under which this very process writes: what it says of the time does not depend on how the clock of this machine was set since. */
  ownLease?: Pick<Lease, 'storeNow'> | undefined
  /** Removes although the clock of this machine is in doubt. */
  trustsClock?: boolean | undefined
  /** The term of the leases of those who write to the backups; absent where no job says it. */
  writerTtlMs?: number
}

/** The time of this machine, and no later than by what has passed since the run of this process began. */
export function ownNow({ ownLease }: PruneParts, machineMs: number): number {
  return Math.min(machineMs, ownLease?.storeNow() ?? machineMs)
}

/** Others wait for a prune, so that one that died must not keep them long. */
export function pruneClaim(backupId: string): LeaseClaim {
  return { backupId, role: 'prune', kind: 'prune', ttlMs: PRUNE_TTL_MS }
}

/** For a look: nothing is written, and the clock of this machine has to do. */
export function lookingLease({ storage, clock }: PruneParts, backupId: string): Lease {
  const times = () => ({ storeMs: clock.now(), machineMs: clock.now() })
  return {
    run: '',
    storeNow: clock.now,
    times,
    assertHeld: () => undefined,
    confirm: async () => undefined,
    others: signal => readLiveLeases(storage, backupId, times(), signal),
  }
}

/** Other processes that use the backup now, as far as their leases are believed. */
export async function findUsers(
  lease: Lease,
  { ownRuns, writerTtlMs }: Pick<PruneParts, 'ownRuns' | 'writerTtlMs'>,
  signal: AbortSignal,
): Promise<FoundLease[]> {
  const others = await lease.others(signal)
  return others.filter(other => !ownRuns?.has(other.run) && isBelieved(other, lease.times(), writerTtlMs))
}

/** What the steps with one backup share. In a dry run they look and count, and change nothing. */
export class PruneContext {
  readonly policy: RetentionPolicy
  readonly parts: PruneParts
  readonly lease: Lease
  readonly isDryRun: boolean
  readonly outcome: BackupOutcome

  constructor(
    policy: RetentionPolicy,
    parts: PruneParts,
    lease: Lease,
    { isDryRun, outcome }: { isDryRun: boolean; outcome: BackupOutcome },
  ) {
    this.policy = policy
    this.parts = parts
    this.lease = lease
    this.isDryRun = isDryRun
    this.outcome = outcome
  }

  get backupId(): string {
    return this.outcome.backupId
  }

  /** For ages: by the clock that says least, because what goes has to be old by all. */
  get nowMs(): number {
    const { storeMs, machineMs } = this.lease.times()
    return Math.min(storeMs, ownNow(this.parts, machineMs))
  }

  get run(): { run: string; toolVersion: string } {
    return { run: this.lease.run, toolVersion: this.parts.toolVersion }
  }

  /** Other processes that use the backup now. */
  async users(signal: AbortSignal): Promise<FoundLease[]> {
    const users = await findUsers(this.lease, this.parts, signal)
    this.outcome.usedBy = users.map(({ holder }) => holder)
    return users
  }

  /** The generations that are held. */
  holds(signal: AbortSignal): Promise<Set<number>> {
    return listHolds(this.parts.storage, this.backupId, signal)
  }

  /** Why its holds keep the backup; undefined without one. With the lease of the prune, none can be placed any more. */
  async heldReason(signal: AbortSignal): Promise<string | undefined> {
    const held = [...(await this.holds(signal))]
    return held.length === 0 ? undefined : describeHolds(held)
  }

  async listObjects(signal: AbortSignal): Promise<StoredObject[]> {
    const objects: StoredObject[] = []
    for await (const object of this.parts.storage.list(backupPrefix(this.backupId), signal)) objects.push(object)
    return objects
  }

  /** Returns what the store protects. */
  async remove(objects: readonly StoredObject[], signal: AbortSignal): Promise<StoredObject[]> {
    const { removed } = this.outcome
    if (!this.isDryRun) return removeObjects(objects, this.outcome, { ...this.parts, lease: this.lease }, signal)
    removed.objects += objects.length
    removed.bytes += objects.reduce((sum, { size }) => sum + size, 0)
    return []
  }

  /** Leases that were not renewed for an hour, or whose time is as far in the future. Reports do not count them. */
  async removeDeadLeases(objects: readonly StoredObject[], signal: AbortSignal): Promise<void> {
    if (this.isDryRun) return
    const times = this.lease.times()
    const isDead = (object: StoredObject) =>
      ageOf(object, times) > LONGEST_TTL_MS || leadOf(object, times) > LONGEST_TTL_MS
    const dead = objects.filter(object => classify(this.backupId, object.key) === 'lease' && isDead(object))
    for (const { key } of dead) await this.parts.storage.remove(key, signal).catch(() => undefined)
  }
}

interface RemovalParts {
  storage: Storage
  lease: Pick<Lease, 'assertHeld'>
  onProgress: OnProgress
}

const CONCURRENCY = 16

/** Removes what it is given; what the store protects is counted, and left for a later prune. */
async function removeObjects(
  objects: readonly StoredObject[],
  outcome: BackupOutcome,
  { storage, lease, onProgress }: RemovalParts,
  signal: AbortSignal,
): Promise<StoredObject[]> {
  let done = 0
  const refused: StoredObject[] = []
  await runPool(objects, CONCURRENCY, async object => {
    const { key, size } = object
    signal.throwIfAborted()
    lease.assertHeld()
    const isGone = await removeOne(storage, key, signal)
    if (!isGone) refused.push(object)
    const amount = isGone ? outcome.removed : outcome.retained
    amount.objects++
    amount.bytes += size
    onProgress({ type: 'removed', backupId: outcome.backupId, objects: ++done, totalObjects: objects.length })
  })
  return refused
}

async function removeOne(storage: Storage, key: string, signal: AbortSignal): Promise<boolean> {
  try {
    await storage.remove(key, signal)
    return true
  } catch (error) {
    if (hasCode(error, 'STORAGE_RETAINED')) return false
    throw error
  }
}
