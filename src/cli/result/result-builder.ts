import { errorTable } from '../../error-table.ts'
import { type ErrorCode, type ErrorDetails, KafkaBackupError } from '../../errors.ts'
import { formatUtc } from '../../lib/clock.ts'
import type { ProgressEvent } from '../../observe/progress.ts'
import type { Result, Totals } from './format-result.ts'

/** Facts about the result of a command; later facts replace earlier ones. */
export interface Facts {
  generation?: number
  totals?: Totals
  warnings?: number
  gaps?: number
  report?: string
  /** The reason for a nonzero exit code without an error, or a better message than that of the error. */
  problem?: { code?: ErrorCode; message: string; details?: ErrorDetails }
}

interface Ended {
  exit: number
  error?: KafkaBackupError
  nowMs: number
}

/** Collects facts about a run: from its events while it runs, and from its report at the end. */
export class ResultBuilder {
  readonly startedMs: number
  readonly #command: string | null
  readonly #copied = { records: 0, bytes: 0 }
  readonly #topics = new Set<string>()
  readonly #partitions = new Set<string>()
  #facts: Facts = {}
  #backupId: string | undefined
  #storedBytes = 0
  #warnings = 0
  #gaps = 0
  #generation: number | undefined

  constructor(command: string | null, startedMs: number) {
    this.#command = command
    this.startedMs = startedMs
  }

  note(facts: Facts): void {
    const totals = { ...this.#facts.totals, ...facts.totals }
    this.#facts = { ...this.#facts, ...facts, totals }
  }

  /** Sets the backup of the command; the first call wins. */
  isAbout(backupId: string | undefined): void {
    this.#backupId ??= backupId
  }

  onProgress(event: ProgressEvent): void {
    switch (event.type) {
      case 'copied':
        this.#copied.records += event.records
        this.#copied.bytes += event.bytes
        this.#topics.add(event.topic)
        this.#partitions.add(`${event.topic}/${event.partition}`)
        break
      case 'resumed':
      case 'committed':
        this.#generation = event.generation
        break
      case 'warning':
        this.#warnings++
        break
      case 'gap':
        this.#gaps++
        break
    }
  }

  /** Counts the bytes written to the store, including indexes and manifests. */
  onStorageCall({ operation, bytes }: { operation: string; bytes: number }): void {
    if (operation === 'create' || operation === 'replace' || operation === 'write') this.#storedBytes += bytes
  }

  resultOf({ exit, error, nowMs }: Ended): Result {
    const { generation, totals, warnings = 0, gaps, report, problem } = this.#facts
    return {
      ok: exit === 0,
      command: this.#command,
      exit,
      ...this.#reasonOf(exit, error, problem),
      details: (exit === 0 ? undefined : (error?.details ?? problem?.details)) ?? {},
      retryable: isWorthRetrying(exit, error ?? problem?.code),
      totals: { ...this.#totalsSoFar(), ...totals },
      backup_id: this.#backupId ?? null,
      generation: generation ?? this.#generation ?? null,
      warnings: this.#warnings + warnings,
      gaps: gaps ?? this.#gaps,
      report: report ?? null,
      started_at: formatUtc(this.startedMs),
      finished_at: formatUtc(nowMs),
    }
  }

  #reasonOf(
    exit: number,
    error: KafkaBackupError | undefined,
    problem: Facts['problem'],
  ): Pick<Result, 'code' | 'message' | 'help'> {
    if (error) return { code: error.code, message: problem?.message ?? error.message, help: error.help }
    if (exit === 0) return { code: null, message: null, help: null }
    const { code, message = `ended with ${exit}; see its output` } = problem ?? {}
    return { code: code ?? null, message, help: code === undefined ? null : errorTable[code].help }
  }

  /** For a run without a report: what was copied; the last part may not be committed. */
  #totalsSoFar(): Totals {
    const copied = { ...this.#copied, topics: this.#topics.size, partitions: this.#partitions.size }
    if (this.#command === 'backup') return { ...copied, stored_bytes: this.#storedBytes }
    return this.#command === 'restore' ? copied : {}
  }
}

const INTERRUPTED = new Set([130, 143])
const FAILED = 1
const PARTLY_DONE = 4
const HELD_BY_OTHERS = 5

/**
 * Whether running the same command again may succeed without any change. Exit codes
 * are not enough: a wrong password and an unavailable broker both exit with 1.
 */
function isWorthRetrying(exit: number, reason: KafkaBackupError | ErrorCode | undefined): boolean {
  if (INTERRUPTED.has(exit)) return true
  if (![FAILED, PARTLY_DONE, HELD_BY_OTHERS].includes(exit)) return false
  // A partial result is retryable if its cause is.
  if (reason instanceof KafkaBackupError && reason.code === 'BACKUP_PARTIAL') return mayPass(reason.cause)
  if (reason instanceof KafkaBackupError) return reason.retryable
  return reason !== undefined && errorTable[reason].retryable
}

function mayPass(cause: unknown): boolean {
  return !(cause instanceof KafkaBackupError) || cause.retryable
}
