import { newestState } from '../archive/catalog.ts'
import type { RolledUp } from '../archive/log/commit-log.ts'
import { DamagedSources } from '../archive/log/damaged-sources.ts'
import type { Manifest } from '../archive/manifest.ts'
import { hasCode, KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import { backoffMs } from '../lib/retry.ts'
import type { BackupOptions } from './backup-options.ts'
import { ContinuousLog, CopyRenewal, openRoundPublisher } from './continuous-log.ts'
import { missingGeneration, takeFinalSnapshot } from './final-snapshot.ts'
import { pollBounds } from './observe-source.ts'
import { Polling } from './polling.ts'
import { type BackupParts, LaneBuffers, prepareRound, runRound } from './round.ts'
import { StartOver } from './start-over.ts'

/** A generation is committed at least so often, though nothing is new: it says that the backup is up to date. */
const HEARTBEAT_MS = 3_600_000
/** How often the ends of the partitions are looked at between two rounds. */
const POLL_MS = 15_000
const BACKOFF = { attempts: Number.POSITIVE_INFINITY, baseDelayMs: 1000, maxDelayMs: 60_000 }

/**
 * Rounds without end, one every commit interval: each observes the cluster again, so that topics and partitions that
 * appeared, were deleted or re-created are met by the same plan as in a single run. Trouble that may pass ends a round,
 * not the run. Ends only by its signal or a final error; what is durable is committed then.
 */
export async function runContinuous(options: BackupOptions, parts: BackupParts, signal: AbortSignal): Promise<never> {
  const line = new Line(options, parts)
  try {
    for (;;) {
      const startedAt = parts.clock.monotonic()
      const delayMs = await line.tryRound(signal)
      const elapsedMs = parts.clock.monotonic() - startedAt
      if (delayMs === undefined) await line.rest(options.commitIntervalMs - elapsedMs, signal)
      else await parts.clock.sleep(delayMs, signal)
    }
  } catch (error) {
    await line.close(error, signal)
    throw error
  }
}

/** The line of generations that this process alone extends. */
class Line {
  readonly #options: BackupOptions
  readonly #startOver: StartOver
  readonly #parts: BackupParts
  readonly #polling: Polling
  readonly #copies: CopyRenewal
  readonly #damaged = new DamagedSources()
  readonly #buffers = new LaneBuffers()
  #log: ContinuousLog | undefined
  /** Of the log that was open before. */
  #rolledUp: RolledUp | undefined
  #previous: Manifest | undefined
  /** The runs since the last round that ended well: a commit of theirs may have taken effect unheard. */
  #runs = new Set<string>()
  /** A failed prune of this process may have committed, too. */
  #mayBeCut = false
  /** The store is asked for the newest generation at the start and after a failure; otherwise this process knows it. */
  #isSure = false
  #rounds = 0
  #lastRoundMs = 0
  #failures = 0
  /** Why the last round did not copy everything. */
  #problem: string | undefined

  constructor(options: BackupOptions, parts: BackupParts) {
    this.#options = options
    this.#startOver = new StartOver(options)
    this.#parts = parts
    this.#polling = new Polling(options, parts.clock)
    this.#copies = new CopyRenewal(parts.storage)
  }

  /** Abandons what is being merged, and brings up to date what is not part of every commit. */
  async close(error: unknown, signal: AbortSignal): Promise<void> {
    await this.#log?.close()
    if (this.#problem !== undefined && isStop(error, signal)) {
      const message = `the last round before the run was stopped did not copy everything: ${this.#problem}`
      this.#parts.onProgress({ type: 'warning', message })
    }
    // The backup is no longer that of this process when another one has taken over.
    if (this.#rounds === 0 || hasCode(error, 'WRITER_CONFLICT')) return
    await this.#copies.end(this.#parts.onProgress)
    const known = this.#previous
    this.#release()
    // After an error the source may be another one, or an older state of it, which must not join the records of before.
    if (isStop(error, signal)) await takeFinalSnapshot(this.#options, this.#parts, this.#polling, known)
  }

  /** What follows reads the newest generation, which takes as much memory as the log itself. */
  #release(): void {
    this.#log = undefined
    this.#previous = undefined
    this.#buffers.forget()
  }

  /** How long to wait after trouble that may pass; undefined after a round that went well. What is final is thrown. */
  async tryRound(signal: AbortSignal): Promise<number | undefined> {
    const { onProgress } = this.#parts
    try {
      const missed = await this.#round(signal)
      if (missed) return this.#retryAfter(missed)
      this.#failures = 0
      this.#problem = undefined
      onProgress({ type: 'round', ok: true })
      return undefined
    } catch (error) {
      const startsOver = !signal.aborted && this.#startOver.accepts(error)
      if (signal.aborted || !(startsOver || mayPass(error, this.#rounds))) throw error
      this.#isSure = false
      this.#polling.forget()
      this.#buffers.forget()
      return this.#retryAfter(error)
    }
  }

  #retryAfter(error: unknown): number {
    const { onProgress } = this.#parts
    this.#failures++
    const delayMs = backoffMs(this.#failures, BACKOFF, 0.5)
    const { message } = toKafkaBackupError(error)
    this.#problem = message
    onProgress({ type: 'round', ok: false })
    onProgress({ type: 'retry', what: `this round ended early: ${message}`, delayMs })
    return delayMs
  }

  /** Waits, and reports the ends of partitions from time to time. */
  async rest(ms: number, signal: AbortSignal): Promise<void> {
    const { clock, cluster, onProgress } = this.#parts
    if (ms > 0) onProgress({ type: 'idle', ms })
    const endAt = clock.monotonic() + ms
    for (let left = ms; left > 0; left = endAt - clock.monotonic()) {
      await clock.sleep(Math.min(left, POLL_MS), signal)
      if (left > POLL_MS) await pollBounds(cluster, this.#previous?.topics ?? [], onProgress, signal)
    }
    signal.throwIfAborted()
  }

  /** Answers with what it did not copy though it ended: then everything else is done as after any round. */
  async #round(signal: AbortSignal): Promise<KafkaBackupError | undefined> {
    const startedAt = this.#parts.clock.monotonic()
    const log = await this.#openLog(signal)
    const previous = log?.writer.newest ?? this.#previous
    // A topic that was there at the start may be deleted later on; that is news, not a mistake in the job.
    const startOptions = this.#startOver.optionsFor(previous)
    const options = this.#rounds === 0 ? startOptions : { ...startOptions, missingTopics: 'warn' as const }
    const reading = this.#polling.begin()
    const observed = await prepareRound(options, { ...this.#parts, ...reading }, previous, signal)
    const prepared = await this.#polling.takeSections(observed, this.#parts, signal)
    const own = { log, copies: this.#copies, quietMs: HEARTBEAT_MS }
    const publisher = openRoundPublisher(options, prepared, this.#parts, own)
    this.#runs.add(publisher.run)
    const kept = { buffers: this.#buffers, lastRoundMs: this.#lastRoundMs }
    const { missed } = await runRound(options, prepared, { ...this.#parts, ...kept }, publisher, signal)
    this.#rounds++
    const polledAt = this.#polling.committed()
    if (polledAt !== undefined) this.#parts.onProgress({ type: 'polled', at: polledAt })
    if (!missed) this.#startOver.clear()
    this.#previous = publisher.newest
    this.#runs = new Set()
    this.#lastRoundMs = this.#parts.clock.monotonic() - startedAt
    this.#mayBeCut = true
    const newest = await this.#parts.afterRound?.(publisher.newest, signal)
    this.#mayBeCut = false
    if (newest && newest.generation !== this.#previous.generation) {
      this.#previous = newest
      this.#isSure = false
    } else log?.tidy()
    return missed
  }

  /** The log that this process has open, as long as it knows that nothing else was committed; undefined in version 1. */
  async #openLog(signal: AbortSignal): Promise<ContinuousLog | undefined> {
    if (this.#isSure) return this.#log
    await this.#log?.close()
    this.#rolledUp = this.#log?.writer.rolledUp ?? this.#rolledUp
    this.#log = undefined
    const found = await newestState(this.#parts.storage, this.#options.backupId, signal)
    this.#assertOwn(found.manifest)
    if (found.isLog || this.#options.beginsLog) {
      const own = { damaged: this.#damaged, rolledUp: this.#rolledUp, onCheckpoint: () => this.#copies.note() }
      this.#log = await ContinuousLog.open(this.#options, this.#parts, found, own, signal)
      if (this.#failures > 0) await this.#log.rollUp(signal)
    }
    this.#previous = found.manifest
    this.#isSure = true
    return this.#log
  }

  #assertOwn(found: Manifest | undefined): void {
    const known = this.#previous
    if (known && (found?.generation ?? 0) < known.generation) throw missingGeneration(this.#parts.storage, known)
    if (!known || !found || found.generation === known.generation || this.#runs.has(found.run)) return
    if (this.#mayBeCut) return
    const message = `another process committed generation ${found.generation} of backup \`${found.backup_id}\``
    throw new KafkaBackupError('WRITER_CONFLICT', `${message} at ${this.#parts.storage.location}`)
  }
}

/** Whether a run ended because it was asked to. An error that came at the same time is one. */
function isStop(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false
  if (error === signal.reason) return true
  return error instanceof Error && isStop(error.cause, signal)
}

/** A partial success is judged by what ended it. After a round that went well, a missing topic was deleted just now. */
function mayPass(error: unknown, rounds: number): boolean {
  const { code, cause, retryable } = toKafkaBackupError(error)
  if (code === 'BACKUP_PARTIAL') return mayPass(cause, rounds)
  return retryable || (code === 'TOPIC_NOT_FOUND' && rounds > 0)
}
