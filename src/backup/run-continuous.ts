import { latestManifest } from '../archive/catalog.ts'
import type { Manifest } from '../archive/manifest.ts'
import { hasCode, KafkaBackupError, toKafkaBackupError } from '../errors.ts'
import { backoffMs } from '../lib/retry.ts'
import type { BackupOptions } from './backup-options.ts'
import { takeFinalSnapshot } from './final-snapshot.ts'
import { GenerationPublisher } from './generation-publisher.ts'
import { pollBounds } from './observe-source.ts'
import { Polling } from './polling.ts'
import { type BackupParts, prepareRound, runRound } from './round.ts'
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
    if (line.hasCommitted && !hasCode(error, 'WRITER_CONFLICT')) await takeFinalSnapshot(options.backupId, parts)
    throw error
  }
}

/** The line of generations that this process alone extends. */
class Line {
  readonly #options: BackupOptions
  readonly #startOver: StartOver
  readonly #parts: BackupParts
  readonly #polling: Polling
  #previous: Manifest | undefined
  /** The runs since the last round that ended well: a commit of theirs may have taken effect unheard. */
  #runs = new Set<string>()
  /** A failed prune of this process may have committed, too. */
  #mayBeCut = false
  /** The store is asked for the newest generation at the start and after a failure; otherwise this process knows it. */
  #isSure = false
  #rounds = 0
  #failures = 0

  constructor(options: BackupOptions, parts: BackupParts) {
    this.#options = options
    this.#startOver = new StartOver(options)
    this.#parts = parts
    this.#polling = new Polling(options, parts.clock)
  }

  get hasCommitted(): boolean {
    return this.#rounds > 0
  }

  /** How long to wait after trouble that may pass; undefined after a round that went well. What is final is thrown. */
  async tryRound(signal: AbortSignal): Promise<number | undefined> {
    const { onProgress } = this.#parts
    try {
      await this.#round(signal)
      this.#failures = 0
      onProgress({ type: 'round', ok: true })
      return undefined
    } catch (error) {
      const startsOver = !signal.aborted && this.#startOver.accepts(error)
      if (signal.aborted || !(startsOver || mayPass(error, this.#rounds))) throw error
      this.#isSure = false
      this.#polling.forget()
      this.#failures++
      const delayMs = backoffMs(this.#failures, BACKOFF, 0.5)
      const { message } = toKafkaBackupError(error)
      onProgress({ type: 'round', ok: false })
      onProgress({ type: 'retry', what: `this round ended early: ${message}`, delayMs })
      return delayMs
    }
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

  async #round(signal: AbortSignal): Promise<void> {
    if (!this.#isSure) this.#previous = await this.#findNewest(signal)
    this.#isSure = true
    // A topic that was there at the start may be deleted later on; that is news, not a mistake in the job.
    const startOptions = this.#startOver.optionsFor(this.#previous)
    const options = this.#rounds === 0 ? startOptions : { ...startOptions, missingTopics: 'warn' as const }
    const reading = this.#polling.begin()
    const observed = await prepareRound(options, { ...this.#parts, ...reading }, this.#previous, signal)
    const prepared = await this.#polling.takeSections(observed, this.#parts, signal)
    const publisher = new GenerationPublisher(options, prepared, this.#parts, { quietMs: HEARTBEAT_MS })
    this.#runs.add(publisher.run)
    await runRound(options, prepared, this.#parts, publisher, signal)
    this.#rounds++
    const polledAt = this.#polling.committed()
    if (polledAt !== undefined) this.#parts.onProgress({ type: 'polled', at: polledAt })
    this.#startOver.clear()
    this.#previous = publisher.newest
    this.#runs = new Set()
    this.#mayBeCut = true
    this.#previous = (await this.#parts.afterRound?.(publisher.newest, signal)) ?? publisher.newest
    this.#mayBeCut = false
  }

  async #findNewest(signal: AbortSignal): Promise<Manifest | undefined> {
    const { backupId } = this.#options
    const found = await latestManifest(this.#parts.storage, backupId, signal)
    const known = this.#previous
    if (known && (found?.generation ?? 0) < known.generation) throw this.#missing(known)
    if (!known || !found || found.generation === known.generation || this.#runs.has(found.run)) return found
    if (this.#mayBeCut) return found
    const message = `another process committed generation ${found.generation} of backup \`${backupId}\``
    throw new KafkaBackupError('WRITER_CONFLICT', `${message} at ${this.#parts.storage.location}`)
  }

  /** Starting again would hide it: an unmounted volume leaves an empty folder behind. */
  #missing({ backup_id, generation }: Manifest): KafkaBackupError {
    const message = `generation ${generation} of backup \`${backup_id}\` was there, and is not at ${this.#parts.storage.location} any more`
    const help = 'Check that the location is still the same, and mounted; then run the same command again.'
    return new KafkaBackupError('ARCHIVE_DAMAGED', message, { help })
  }
}

/** A partial success is judged by what ended it. After a round that went well, a missing topic was deleted just now. */
function mayPass(error: unknown, rounds: number): boolean {
  const { code, cause, retryable } = toKafkaBackupError(error)
  if (code === 'BACKUP_PARTIAL') return mayPass(cause, rounds)
  return retryable || (code === 'TOPIC_NOT_FOUND' && rounds > 0)
}
