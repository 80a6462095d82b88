import { hasCode, KafkaBackupError } from '../errors.ts'
import { type Clock, elapsedOf, formatUtc } from '../lib/clock.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage, StoredObject } from '../storage/storage.ts'
import { leaseKey } from './layout.ts'
import {
  type FoundLease,
  type LeaseClaim,
  type LeaseDocument,
  listLeases,
  type ProcessIdentity,
  READER_TTL_MS,
  readLease,
  readLive,
  type Times,
} from './lease.ts'
import { LeaseTerm } from './lease-term.ts'

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

export interface Lease {
  readonly run: string
  /** The clock of the store: only differences between its own times mean anything. */
  storeNow(): number
  /** For ages that must not depend on one clock alone. */
  times(): Times
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
/** How long a run that ends waits for the answer to a lease that it writes. */
const ANSWER_MS = 3000
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
  /** Its key is the number of a writer, which another one may take when this one seems dead. */
  #hasNumber: boolean
  #leftKey: string | undefined
  readonly #ttlMs: number
  readonly #startedAt: string
  readonly #stop = new AbortController()
  #renewing: Promise<void> = Promise.resolve()
  readonly #term: LeaseTerm
  /** When the store said that it was written, by its clock; that of this machine until it is known. */
  #storeMs = 0
  /** The same by the clock of this process. */
  #storedMs = 0
  #isTimeKnown = false
  #lastOthers: readonly FoundLease[] | undefined

  constructor(parts: LeaseParts, claim: LeaseClaim, key?: string) {
    this.run = parts.newRun()
    this.#parts = parts
    this.#claim = claim
    this.#keys = [key ?? leaseKey(claim.backupId, this.run)]
    this.#hasNumber = key !== undefined
    this.#ttlMs = claim.ttlMs ?? READER_TTL_MS
    this.#term = new LeaseTerm(parts.clock, this.#ttlMs)
    this.#startedAt = formatUtc(parts.clock.now())
    this.#assumeTime()
  }

  async begin(signal: AbortSignal): Promise<void> {
    this.#term.begin()
    await this.#create(signal)
    this.#assumeTime()
    // Readers and writers learn the time of the store when they list the others; before that they do not need it.
    if (this.#claim.role === 'prune') await this.#readTime(signal)
    this.#renewing = this.#renew()
  }

  storeNow(): number {
    return this.#storeMs + (elapsedOf(this.#parts.clock) - this.#storedMs)
  }

  times(): Times {
    return { storeMs: this.storeNow(), machineMs: this.#parts.clock.now() }
  }

  /** The result of the last `others`. */
  get lastOthers(): readonly FoundLease[] | undefined {
    return this.#lastOthers
  }

  /** One listing tells the time of the store, too; its own objects need not be read. */
  async others(signal: AbortSignal): Promise<FoundLease[]> {
    const { storage } = this.#parts
    const listed = await listLeases(storage, this.#claim.backupId, signal)
    this.#learnTime(listed.find(({ key }) => key === this.#newest()))
    // Without the time of the store, a wrong clock would take others for dead: a store may list late what it has.
    if (!this.#isTimeKnown) this.#learnTime(await storage.stat(this.#newest(), signal))
    const foreign = listed.filter(({ key }) => !this.#keys.includes(key))
    const live = await readLive(storage, foreign, this.times(), signal)
    const others = live.filter(({ run }) => run !== this.run)
    this.#lastOthers = others
    return others
  }

  async confirm(check: () => Promise<void>, signal: AbortSignal): Promise<void> {
    if (this.#term.findLoss() === undefined) return
    await this.#writeInTime(signal)
    await check()
    this.#term.recover()
  }

  assertHeld(): void {
    const loss = this.#term.findLoss()
    if (loss === undefined) return
    const message = `the lease ${this.#newest()} at ${this.#parts.storage.location} ${loss} so another run may have started`
    throw new KafkaBackupError('WRITER_CONFLICT', message, { help: 'Run the same command again.' })
  }

  /** Where the object cannot be removed, it is replaced by one without a term, so that the next run does not wait for it. */
  async end(): Promise<void> {
    const { storage, clock } = this.#parts
    this.#stop.abort()
    await this.#renewing
    this.#leaveNumber()
    const late = new AbortController()
    const cancel = clock.after(REMOVAL_MS, () => late.abort())
    const removed = await Promise.all(
      [...this.#keys, ...(await this.#findLeft(late.signal))].map(key =>
        storage.remove(key, late.signal).then(
          () => true,
          () => false,
        ),
      ),
    )
    if (removed.includes(false)) await this.#write(late.signal, 0).catch(() => undefined)
    cancel()
  }

  async #create(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { storage } = this.#parts
    try {
      await this.#unbroken(signal, late => storage.create(this.#newest(), this.#encode(), late))
      if (signal.aborted) await this.end()
    } finally {
      signal.throwIfAborted()
    }
  }

  /** A request that is broken off may still be carried out, after the removal of the lease: the next run would wait for it. */
  async #unbroken(signal: AbortSignal, write: (late: AbortSignal) => Promise<void>): Promise<void> {
    const late = new AbortController()
    let cancel: () => void = () => undefined
    const allowLess = () => {
      cancel = this.#parts.clock.after(ANSWER_MS, () => late.abort(signal.reason))
    }
    signal.addEventListener('abort', allowLess, { once: true })
    try {
      await write(late.signal)
    } finally {
      signal.removeEventListener('abort', allowLess)
      cancel()
    }
  }

  async #readTime(signal: AbortSignal): Promise<void> {
    try {
      this.#learnTime(await this.#parts.storage.stat(this.#newest(), signal))
    } catch (error) {
      // It is its own: left behind, it would keep the next run waiting.
      await this.end()
      throw error
    }
  }

  /** The clock of this machine counts until that of the store is known. */
  #assumeTime(): void {
    const { clock } = this.#parts
    this.#storeMs = clock.now()
    this.#storedMs = elapsedOf(clock)
  }

  /** Once: the times of later renewals would follow a clock that is corrected meanwhile. */
  #learnTime(stored: StoredObject | undefined): void {
    if (!stored || this.#isTimeKnown) return
    this.#storeMs = stored.modifiedMs
    this.#isTimeKnown = true
  }

  async #renew(): Promise<void> {
    const { clock } = this.#parts
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        await clock.sleep(this.#ttlMs / 3, signal)
        await this.#unbroken(signal, late => this.#writeInTime(late))
      } catch {
        // What cannot be renewed now is tried again; `assertHeld` tells when it is too late.
      }
    }
  }

  async #writeInTime(signal: AbortSignal): Promise<void> {
    const written = this.#term.now()
    this.#leaveNumber()
    await this.#write(signal)
    if (!this.#isTimeKnown) this.#assumeTime()
    this.#term.renew(written)
  }

  /** After its term a prune may have removed the object, and another writer may have created it again: it is then the other one's. */
  #leaveNumber(): void {
    if (!this.#hasNumber || this.#term.findOverdue() === undefined) return
    this.#hasNumber = false
    this.#leftKey = this.#newest()
    this.#keys = [leaseKey(this.#claim.backupId, this.run, ++this.#renewals)]
  }

  /** The key that it has left, unless it is another one's now. */
  async #findLeft(signal: AbortSignal): Promise<string[]> {
    if (this.#leftKey === undefined) return []
    const found = await readLease(this.#parts.storage, { key: this.#leftKey, modifiedMs: 0 }, signal).catch(() => null)
    return found?.run === this.run ? [this.#leftKey] : []
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
