import type { NewestState } from '../archive/catalog.ts'
import { type LogOptions, LogWriter } from '../archive/log/log-writer.ts'
import type { Manifest } from '../archive/manifest.ts'
import { renewCopies } from '../archive/newest-copies.ts'
import { toKafkaBackupError } from '../errors.ts'
import { formatJson } from '../lib/json.ts'
import type { OnProgress } from '../observe/progress.ts'
import type { Storage } from '../storage/storage.ts'
import type { BackupOptions } from './backup-options.ts'
import { GenerationPublisher } from './generation-publisher.ts'
import { LogPublisher } from './log-publisher.ts'
import { storeClock } from './open-target.ts'
import type { BackupParts, Prepared } from './round.ts'

const DEFAULT_MERGE_AFTER_MS = 24 * 3_600_000

/** The log that a continuous run keeps open from round to round, and the merging next to its rounds. */
export class ContinuousLog {
  readonly writer: LogWriter
  readonly #onProgress: OnProgress
  readonly #onCheckpoint: () => void
  readonly #stop = new AbortController()
  #tidying: Promise<void> | undefined

  private constructor(writer: LogWriter, onProgress: OnProgress, onCheckpoint: () => void) {
    this.writer = writer
    this.#onProgress = onProgress
    this.#onCheckpoint = onCheckpoint
  }

  static async open(
    options: BackupOptions,
    parts: BackupParts,
    base: NewestState,
    { onCheckpoint, ...known }: { onCheckpoint: () => void } & Pick<LogOptions, 'damaged' | 'rolledUp'>,
    signal: AbortSignal,
  ): Promise<ContinuousLog> {
    const { backupId, compression, segmentBytes, mergeAfterMs = DEFAULT_MERGE_AFTER_MS } = options
    const { storage, newRun, encryption, onProgress } = parts
    const pieces = { compression, segmentBytes, mergeAfterMs }
    const onWarning = (message: string) => onProgress({ type: 'warning', message })
    const own = {
      backupId,
      newRun,
      nowMs: storeClock(parts),
      folderOf: encryption?.folderOf,
      pieces,
      ...known,
      onWarning,
    }
    return new ContinuousLog(await LogWriter.open(storage, base, own, signal), onProgress, onCheckpoint)
  }

  /** Merges and rolls up what is due while the run continues. What fails is tried again after another round. */
  tidy(): void {
    if (this.#tidying) return
    this.#tidying = this.#tidy().finally(() => {
      this.#tidying = undefined
    })
  }

  /** For a run whose rounds fail, which leaves no time between them. What fails is tried again before another round. */
  async rollUp(signal: AbortSignal): Promise<void> {
    try {
      await this.writer.rollUp(signal)
    } catch (error) {
      signal.throwIfAborted()
      this.#onProgress({ type: 'warning', message: toKafkaBackupError(error).message })
    }
  }

  /** Abandons what is being merged: nothing names it yet. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#tidying
  }

  async #tidy(): Promise<void> {
    const { signal } = this.#stop
    try {
      if (await this.writer.tidy(signal)) this.#onCheckpoint()
    } catch (error) {
      if (signal.aborted) return
      this.#onProgress({ type: 'warning', message: toKafkaBackupError(error).message })
    }
  }
}

/**
 * `manifest.json` and the files of the registry, which are copies for people. A continuous run renews them with its first commit, with
 * every checkpoint, when schemas change, and at its end.
 */
export class CopyRenewal {
  readonly #storage: Storage
  readonly #storeSignal = new AbortController().signal
  #isDue = true
  #schemas = ''
  /** The last commit of this process, and the generation that the copies are of. */
  #newest: Manifest | undefined
  #copied = 0

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** The next commit renews them. */
  note(): void {
    this.#isDue = true
  }

  async afterCommit(newest: Manifest, onProgress: OnProgress): Promise<void> {
    this.#newest = newest
    const schemas = formatJson({ ...newest.schema_registry, backup_timestamp: '' })
    if (this.#isDue || schemas !== this.#schemas) await this.#renew(newest, onProgress)
    this.#schemas = schemas
  }

  async end(onProgress: OnProgress): Promise<void> {
    if (this.#newest && this.#newest.generation !== this.#copied) await this.#renew(this.#newest, onProgress)
    this.#newest = undefined
  }

  async #renew(newest: Manifest, onProgress: OnProgress): Promise<void> {
    const warnings = await renewCopies(this.#storage, newest, this.#storeSignal)
    for (const message of warnings) onProgress({ type: 'warning', message })
    this.#isDue = false
    this.#copied = newest.generation
  }
}

/** Publishes what a round has made durable, in the version that the backup has. */
export function openRoundPublisher(
  options: BackupOptions,
  prepared: Prepared,
  parts: BackupParts,
  { log, copies, quietMs }: { log: ContinuousLog | undefined; copies: CopyRenewal; quietMs: number },
): GenerationPublisher | LogPublisher {
  if (!log) return new GenerationPublisher(options, prepared, parts, { quietMs })
  const afterCommit = (newest: Manifest, onProgress: OnProgress) => copies.afterCommit(newest, onProgress)
  return new LogPublisher(log.writer, options, prepared, parts, { quietMs, afterCommit })
}
