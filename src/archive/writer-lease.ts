import { hasCode, KafkaBackupError } from '../errors.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import { formatDuration } from '../lib/units.ts'
import { HeldLease, type Lease, type LeaseParts } from './held-lease.ts'
import { leasesPrefix, nextWriterNumber, parseWriterNumber, writerLeaseKey } from './layout.ts'
import { ageOf, type FoundLease, type LeaseClaim, type Times, WRITER_TTL_MS } from './lease.ts'

/**
 * How long a lease counts that is not renewed, after it was first seen: as long as this writer's own would. What a document claims
 * beyond that is not believed, because a writer to the store could block every backup.
 */
function longestWaitMs({ ttlMs = WRITER_TTL_MS }: Pick<LeaseClaim, 'ttlMs'>): number {
  return Math.max(ttlMs, WRITER_TTL_MS)
}

const WAIT_MS = 2000
const FIRST_WRITER = 1
/** By the clock of this machine: only clocks that differ by more make the first attempt fail, and the second waits. */
const OLD_MS = 24 * 3_600_000

/**
 * Begins the lease of a writer. Shards work at the same time. Every other writer works alone: it creates the lease with
 * the next number, which one of several can, and gives it up when it then finds a rival. Most backups have no lease when a
 * writer begins, so the first number is tried before they are listed: a store may be far away.
 */
export async function beginWriter(parts: LeaseParts, claim: LeaseClaim, signal: AbortSignal): Promise<HeldLease> {
  const rivals = new Rivals(parts, { ttlMs: WRITER_TTL_MS, ...claim })
  if (claim.kind === 'shard') return beginShard(rivals, signal)
  const first = await tryBeginAlone(rivals, FIRST_WRITER, signal)
  if (first) return first
  for (let mustWait = false; ; mustWait = true) {
    const { hasLeases, next } = await surveyLeases(parts, claim, signal)
    if (hasLeases || mustWait) await waitAsReader(rivals, signal)
    const lease = await tryBeginAlone(rivals, next, signal)
    if (lease) return lease
  }
}

/** Pure. Shards and their commit do not conflict; every other writer does. */
export function isRival(kind: string, other: Pick<FoundLease, 'role' | 'kind'>): boolean {
  if (other.role !== 'writer') return false
  return (
    !(['shard', 'commit'].includes(kind) && other.kind === 'shard') && !(kind === 'shard' && other.kind === 'commit')
  )
}

async function awaitPrune(lease: HeldLease, parts: LeaseParts, claim: LeaseClaim, signal: AbortSignal): Promise<void> {
  const observed = new Observed(parts.clock, longestWaitMs(claim))
  const isPrune = (other: FoundLease) => other.role === 'prune' && !observed.isExpired(other)
  const hasWaited = await awaitOthers(lease, parts, isPrune, signal, other => {
    const wait = describeWait(observed.leftMs(other, lease.times()), parts.clock)
    const message = `backup \`${claim.backupId}\` is being pruned (${other.holder}); ${wait}`
    parts.onProgress({ type: 'waiting', message })
  })
  if (hasWaited) claim.onWritten?.()
}

async function beginShard(rivals: Rivals, signal: AbortSignal): Promise<HeldLease> {
  const lease = new HeldLease(rivals.parts, rivals.claim)
  await lease.begin(signal)
  try {
    await rivals.await(lease, signal)
    return lease
  } catch (error) {
    await lease.end()
    throw error
  }
}

async function surveyLeases({ storage, clock }: LeaseParts, { backupId }: LeaseClaim, signal: AbortSignal) {
  let hasLeases = false
  const taken = new Set<number>()
  for await (const { key, modifiedMs } of storage.list(leasesPrefix(backupId), signal)) {
    hasLeases ||= clock.now() - modifiedMs <= OLD_MS
    taken.add(parseWriterNumber(key))
  }
  return { hasLeases, next: nextWriterNumber(taken) }
}

/** The lease of a reader is in no writer's way, and shows the time of the store. */
async function waitAsReader(rivals: Rivals, signal: AbortSignal): Promise<void> {
  const { parts, claim } = rivals
  const lease = new HeldLease(parts, { ...claim, role: 'reader', kind: `${claim.kind}, waiting` })
  await lease.begin(signal)
  try {
    await rivals.await(lease, signal)
  } finally {
    await lease.end()
  }
}

async function tryBeginAlone(rivals: Rivals, number: number, signal: AbortSignal): Promise<HeldLease | undefined> {
  const { parts, claim } = rivals
  const lease = new HeldLease(parts, claim, writerLeaseKey(claim.backupId, number))
  try {
    await lease.begin(signal)
  } catch (error) {
    // It belongs to another writer, which must keep it.
    if (hasCode(error, 'STORAGE_EXISTS')) return undefined
    throw error
  }
  claim.onWritten?.()
  try {
    if (!(await lease.others(signal)).some(other => rivals.isLive(other))) return lease
  } catch (error) {
    await lease.end()
    throw error
  }
  await lease.end()
  // Two that meet here both step back; the requests in between decide who comes back first.
  await parts.clock.sleep(WAIT_MS, signal)
  return undefined
}

/** The other writers of a backup, as one that wants to begin sees them. */
class Rivals {
  readonly parts: LeaseParts
  readonly claim: LeaseClaim
  readonly #observed: Observed

  constructor(parts: LeaseParts, claim: LeaseClaim) {
    this.parts = parts
    this.claim = claim
    this.#observed = new Observed(parts.clock, longestWaitMs(claim))
  }

  isLive(other: FoundLease): boolean {
    return isRival(this.claim.kind, other) && !this.parts.hasEnded?.(other) && !this.#observed.isExpired(other)
  }

  /** Fails when a rival renews its lease meanwhile: it lives, and may do so for hours. */
  async await(lease: HeldLease, signal: AbortSignal): Promise<void> {
    const { parts, claim } = this
    const where = claim.where ?? `backup \`${claim.backupId}\` at ${parts.storage.location}`
    const seen = new Map<string, string>()
    const isAwaited = (other: FoundLease) => {
      if (!this.isLive(other)) return false
      const written = writtenOf(other)
      if ((seen.get(other.run) ?? written) !== written) throw rivalError(where, other, claim.help)
      seen.set(other.run, written)
      return true
    }
    await awaitOthers(lease, parts, isAwaited, signal, other => {
      const wait = describeWait(this.#observed.leftMs(other, lease.times()), parts.clock)
      const message = `${where} is being written by another run (${other.holder}); ${wait}`
      parts.onProgress({ type: 'warning', message })
    })
  }
}

function rivalError(
  where: string,
  { holder }: FoundLease,
  help = 'Let it finish or stop it, then run the same command again.',
): KafkaBackupError {
  return new KafkaBackupError('WRITER_CONFLICT', `${where} is being written by another run (${holder})`, { help })
}

function describeWait(leftMs: number, clock: Clock): string {
  const until = formatUtc(clock.now() + leftMs)
  return `waiting up to ${formatDuration(leftMs)} for it to end, until ${until}`
}

/** A lease that is seen for its whole term without being renewed is dead, though the store's clock jumped back since. */
class Observed {
  readonly #clock: Clock
  readonly #longestMs: number
  readonly #seenAt = new Map<string, number>()

  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock
    this.#longestMs = longestMs
  }

  /** Until it expires if it is not renewed. */
  leftMs(lease: FoundLease, times: Times): number {
    return Math.max(0, Math.min(lease.ttlMs, this.#longestMs, lease.ttlMs - ageOf(lease, times)))
  }

  isExpired(lease: FoundLease): boolean {
    const nowMs = this.#clock.monotonic()
    const seenAt = this.#seenAt.get(writtenOf(lease))
    if (seenAt === undefined) this.#seenAt.set(writtenOf(lease), nowMs)
    return nowMs - (seenAt ?? nowMs) > Math.min(lease.ttlMs, this.#longestMs)
  }
}

function writtenOf({ key, modifiedMs }: FoundLease): string {
  return `${key} ${modifiedMs}`
}

/** Each is reported once. Answers whether there was one to wait for. */
async function awaitOthers(
  lease: HeldLease,
  { clock }: LeaseParts,
  isAwaited: (other: FoundLease) => boolean,
  signal: AbortSignal,
  report: (other: FoundLease) => void,
): Promise<boolean> {
  const reported = new Set<string>()
  // Of what was seen since its lease is there, nothing has to be read again.
  let others = lease.lastOthers ?? (await lease.others(signal))
  for (;;) {
    const awaited = others.find(isAwaited)
    if (!awaited) return reported.size > 0
    if (!reported.has(awaited.run)) report(awaited)
    reported.add(awaited.run)
    await clock.sleep(WAIT_MS, signal)
    others = await lease.others(signal)
  }
}

export type { Lease, LeaseParts } from './held-lease.ts'
export type { LeaseClaim } from './lease.ts'

/**
 * Works under a lease, which is renewed until the work has ended and removed then, however it ended. A writer waits for
 * another writer of the same backup and for a prune that is at work: of two that look for each other after they have
 * written their leases, at least one sees the other. A reader that may not write does its work without: the grace period
 * of a prune is all that covers it.
 */
export async function withLease<T>(
  parts: LeaseParts,
  claim: LeaseClaim,
  signal: AbortSignal,
  work: (lease: Lease | undefined) => Promise<T>,
): Promise<T> {
  const lease = await begin(parts, claim, signal)
  if (!lease) return work(undefined)
  try {
    if (claim.role === 'writer') await awaitPrune(lease, parts, claim, signal)
    return await work(lease)
  } finally {
    await lease.end()
  }
}

async function begin(parts: LeaseParts, claim: LeaseClaim, signal: AbortSignal): Promise<HeldLease | undefined> {
  if (claim.role === 'writer') return beginWriter(parts, claim, signal)
  const lease = new HeldLease(parts, claim)
  return (await tryBegin(lease, parts, claim, signal)) ? lease : undefined
}

async function tryBegin(lease: HeldLease, parts: LeaseParts, claim: LeaseClaim, signal: AbortSignal): Promise<boolean> {
  try {
    await lease.begin(signal)
    return true
  } catch (error) {
    if (claim.role !== 'reader' || signal.aborted || !(error instanceof KafkaBackupError)) throw error
    const reason = `no lease can be written at ${parts.storage.location}: ${error.message}`
    if (claim.onUnleased) claim.onUnleased(reason)
    else parts.onProgress({ type: 'note', message: `${reason}; only the grace period keeps a prune away` })
    return false
  }
}
