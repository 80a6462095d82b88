import { type Clock, elapsedOf } from '../lib/clock.ts'
import { formatDuration } from '../lib/units.ts'

/** By both clocks of this machine. */
interface Instant {
  elapsedMs: number
  nowMs: number
}

/** How long a lease of this process lasts after it was written. */
export class LeaseTerm {
  readonly #clock: Clock
  readonly #ttlMs: number
  /** When the lease was surely not yet written for the last time. */
  #written: Instant
  /** Its term had passed before it was renewed: another run may have started in between. */
  #lost: string | undefined

  constructor(clock: Clock, ttlMs: number) {
    this.#clock = clock
    this.#ttlMs = ttlMs
    this.#written = this.now()
  }

  now(): Instant {
    return { elapsedMs: elapsedOf(this.#clock), nowMs: this.#clock.now() }
  }

  /** The lease is about to be written for the first time. */
  begin(): void {
    this.#written = this.now()
  }

  /** The lease was written after this instant. Once lost it stays so. */
  renew(written: Instant): void {
    this.#lost ??= this.findOverdue()
    this.#written = written
  }

  /** It was written again, and nothing had changed while it was lost. */
  recover(): void {
    this.#lost = this.findOverdue()
  }

  /** Why others may take its holder for dead; undefined while it is held. */
  findLoss(): string | undefined {
    return this.#lost ?? this.findOverdue()
  }

  /**
   * Why its term may be over; undefined before. By the later of both clocks: one may stop while the machine is suspended, and the other
   * may be set back.
   */
  findOverdue(): string | undefined {
    const now = this.now()
    const elapsedMs = now.elapsedMs - this.#written.elapsedMs
    const wallMs = now.nowMs - this.#written.nowMs
    if (elapsedMs > this.#ttlMs) return 'could not be renewed in time,'
    if (wallMs <= this.#ttlMs) return undefined
    const cause = `the clock of this machine moved ahead by ${formatDuration(wallMs - elapsedMs)}`
    return `may have expired, because ${cause}: it was set, or the machine was paused;`
  }
}
