import { hasCode, KafkaBackupError } from '../errors.ts'
import { type Clock, formatUtc } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import { leaseKey } from './layout.ts'
import {
  type FoundLease,
  type LeaseDocument,
  type LeaseRole,
  type ProcessIdentity,
  READER_TTL_MS,
  readLiveLeases,
} from './lease.ts'

export interface LeaseParts {
  storage: Storage
  clock: Clock
  newRun: () => string
  toolVersion: string
  /** Of this process. */
  host: string
  pid: number
  /** Tells whether another process of this machine still runs; absent where the system cannot say. */
  identity?: ProcessIdentity
  /** True only for a process of this machine that certainly has ended. */
  hasEnded?: (holder: FoundLease) => boolean
  onProgress: OnProgress
}

export interface LeaseClaim {
  backupId: string
  role: LeaseRole
  /** What is done, for people: `restore`. */
  kind: string
  ttlMs?: number
  /** What is written to, for messages; the backup where it is not given. */
  where?: string
  /** What to do where another writer is at work. */
  help?: string
  /** Called with the reason where a reader may not write a lease; a note where it is not given. */
  onUnleased?: (reason: string) => void
}

export interface Lease {
  readonly run: string
  /** The clock of the store: only differences between its own times mean anything. */
  storeNow(): number
  /** The others that live. */
  others(signal: AbortSignal): Promise<FoundLease[]>
  /** Fails where it was not renewed in time, so that others may take its holder for dead. */
  assertHeld(): void
  /**
   * Resolves at once where it was renewed in time. Otherwise it is renewed first, and counts as held again when the check finds that
   * no other process has changed anything.
   */
  confirm(check: () => Promise<void>, signal: AbortSignal): Promise<void>
}

const REMOVAL_MS = 10_000
/** Objects of one lease that may live at the same time: it is renewed three times in its term. */
const LIVING_KEYS = 4

/** A lease that is renewed from `begin` to `end`. */
export class HeldLease implements Lease {
  readonly run: string
  readonly #parts: LeaseParts
  readonly #claim: LeaseClaim
  /** Those that may still live, the newest last. */
  #keys: string[]
  #renewals = 0
  readonly #ttlMs: number
  readonly #startedAt: string
  readonly #stop = new AbortController()
  #renewing: Promise<void> = Promise.resolve()
  /** When it was surely not yet written for the last time. */
  #writtenMs = 0
  /** Its term had passed before it was renewed: another run may have begun in between. */
  #isLost = false
  #storeMs = 0
  #seenMs = 0

  constructor(parts: LeaseParts, claim: LeaseClaim, key?: string) {
    this.run = parts.newRun()
    this.#parts = parts
    this.#claim = claim
    this.#keys = [key ?? leaseKey(claim.backupId, this.run)]
    this.#ttlMs = claim.ttlMs ?? READER_TTL_MS
    this.#startedAt = formatUtc(parts.clock.now())
  }

  async begin(signal: AbortSignal): Promise<void> {
    const { storage, clock } = this.#parts
    const writtenMs = clock.monotonic()
    await storage.create(this.#newest(), this.#encode(), signal)
    this.#writtenMs = writtenMs
    try {
      const stored = await storage.stat(this.#newest(), signal)
      this.#storeMs = stored?.modifiedMs ?? clock.now()
    } catch (error) {
      // It is its own: left behind, it would keep the next run waiting.
      await this.end()
      throw error
    }
    this.#seenMs = clock.monotonic()
    this.#renewing = this.#renew()
  }

  storeNow(): number {
    return this.#storeMs + (this.#parts.clock.monotonic() - this.#seenMs)
  }

  async others(signal: AbortSignal): Promise<FoundLease[]> {
    const leases = await readLiveLeases(this.#parts.storage, this.#claim.backupId, this.storeNow(), signal)
    return leases.filter(({ run }) => run !== this.run)
  }

  async confirm(check: () => Promise<void>, signal: AbortSignal): Promise<void> {
    if (!this.#isLost && !this.#isOverdue()) return
    await this.#writeInTime(signal)
    await check()
    this.#isLost = this.#isOverdue()
  }

  assertHeld(): void {
    const { storage } = this.#parts
    if (!this.#isLost && !this.#isOverdue()) return
    const message = `the lease ${this.#newest()} at ${storage.location} could not be renewed in time, so another run may have started`
    throw new KafkaBackupError('WRITER_CONFLICT', message, { help: 'Run the same command again.' })
  }

  /** Where the object cannot be removed, it is replaced by one without a term, so that the next run does not wait for it. */
  async end(): Promise<void> {
    const { storage, clock } = this.#parts
    this.#stop.abort()
    await this.#renewing
    const late = new AbortController()
    const cancel = clock.after(REMOVAL_MS, () => late.abort())
    const removed = await Promise.all(
      this.#keys.map(key =>
        storage.remove(key, late.signal).then(
          () => true,
          () => false,
        ),
      ),
    )
    if (removed.includes(false)) await this.#write(late.signal, 0).catch(() => undefined)
    cancel()
  }

  async #renew(): Promise<void> {
    const { clock } = this.#parts
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        await clock.sleep(this.#ttlMs / 3, signal)
        await this.#writeInTime(signal)
      } catch {
        // What cannot be renewed now is tried again; `assertHeld` tells when it is too late.
      }
    }
  }

  async #writeInTime(signal: AbortSignal): Promise<void> {
    const writtenMs = this.#parts.clock.monotonic()
    await this.#write(signal)
    this.#isLost ||= this.#isOverdue()
    this.#writtenMs = writtenMs
  }

  /** Where the store keeps what is there, by a policy or as the permission is missing, the lease continues in another object. */
  async #write(signal: AbortSignal, ttlMs = this.#ttlMs): Promise<void> {
    const { storage } = this.#parts
    try {
      await storage.replace(this.#newest(), this.#encode(ttlMs), signal)
    } catch (error) {
      if (!hasCode(error, 'STORAGE_DENIED', 'STORAGE_RETAINED')) throw error
      const next = leaseKey(this.#claim.backupId, this.run, ++this.#renewals)
      this.#keys = [...this.#keys, next].slice(-LIVING_KEYS)
      await storage.create(next, this.#encode(ttlMs), signal)
    }
  }

  #isOverdue(): boolean {
    return this.#parts.clock.monotonic() - this.#writtenMs > this.#ttlMs
  }

  #newest(): string {
    return this.#keys.at(-1) ?? leaseKey(this.#claim.backupId, this.run)
  }

  #encode(ttlMs = this.#ttlMs): Buffer {
    const { clock, host, pid, toolVersion, identity } = this.#parts
    const { role, kind } = this.#claim
    const document: LeaseDocument = {
      format: 'kafka-backup-lease',
      format_version: 1,
      role,
      kind,
      run: this.run,
      host,
      pid,
      tool_version: toolVersion,
      started_at: this.#startedAt,
      renewed_at: formatUtc(clock.now()),
      ttl_ms: ttlMs,
      ...(identity && { machine: identity.machine, process_start: identity.processStart }),
    }
    return Buffer.from(`${JSON.stringify(document, undefined, 1)}\n`)
  }
}
