import { errorTable } from './error-table.ts'

export type ErrorCode = keyof typeof errorTable

/**
 * What an error or a finding is about, as data. The names are the same in JSON output and stay; docs/errors.md lists
 * them. A message repeats the values for people, and programs read them here.
 */
export interface ErrorDetails {
  topic?: string | undefined
  partition?: number | undefined
  offset?: bigint | undefined
  group?: string | undefined
  subject?: string | undefined
  version?: number | undefined
  backup_id?: string | undefined
  location?: string | undefined
  key?: string | undefined
  problem?: string | undefined
  field?: string | undefined
  resource?: string | undefined
  operation?: string | undefined
}

/** The meaning of each detail, for docs/errors.md. */
export const detailTable: Readonly<Record<keyof ErrorDetails, string>> = {
  topic: 'the topic',
  partition: 'the number of the partition',
  offset: 'the offset in the partition',
  group: 'the consumer group',
  subject: 'the subject in the schema registry',
  version: 'the number of the version of the subject',
  backup_id: 'the backup',
  location: 'the store, as its address or folder',
  key: 'the object in the store',
  problem: 'what is wrong with the object `key`, in words that do not repeat the key',
  field:
    'the field of the job file or resource, or the option of the command line, as its path: `source.topics.include.0`',
  resource:
    'what a permission is missing on: `topic orders`, `cluster`, or the kind of a Kubernetes object; or the key of AWS KMS that cannot be used',
  operation: 'the operation that is denied or failed: `Describe`, `create`',
}

export interface KafkaBackupErrorOptions {
  cause?: unknown
  /** What to do in this case; the text of the table if it is not given. */
  help?: string | undefined
  details?: ErrorDetails | undefined
}

export class KafkaBackupError extends Error {
  readonly code: ErrorCode
  readonly help: string
  /** An error that wraps another one is about the same things, unless it states its own. */
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, options: KafkaBackupErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'KafkaBackupError'
    this.code = code
    this.help = options.help ?? errorTable[code].help
    this.details = withoutUndefined({ ...inheritedDetails(options.cause), ...options.details })
  }

  get retryable(): boolean {
    return errorTable[this.code].retryable
  }

  get exitCode(): number {
    return errorTable[this.code].exitCode
  }
}

/** The problem of an object belongs to the error that states it. */
function inheritedDetails(cause: unknown): ErrorDetails {
  return cause instanceof KafkaBackupError ? { ...cause.details, problem: undefined } : {}
}

function withoutUndefined(details: ErrorDetails): ErrorDetails {
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined))
}

/** For JSON: nothing if there are none. */
export function detailsField({ details }: { details?: ErrorDetails | undefined }): { details?: ErrorDetails } {
  return details !== undefined && Object.keys(details).length > 0 ? { details } : {}
}

export function hasCode(error: unknown, ...codes: readonly ErrorCode[]): error is KafkaBackupError {
  return error instanceof KafkaBackupError && codes.includes(error.code)
}

/** A call or a command line that cannot be carried out as it was given. */
export function usageError(message: string): KafkaBackupError {
  return new KafkaBackupError('USAGE', message)
}

/** Any thrown value as an error of the table; an unclassified one is a bug and is reported as one. */
export function toKafkaBackupError(error: unknown): KafkaBackupError {
  if (error instanceof KafkaBackupError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new KafkaBackupError('INTERNAL', message, { cause: error })
}

/**
 * What a run ended with. After an interruption most failures are its consequence and it is the reason to give; a final
 * failure with a code, such as a conflict with another writer, says more.
 */
export function reasonOf(error: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted) return error
  const isFinal = error instanceof KafkaBackupError && !error.retryable && error.code !== 'INTERNAL'
  return isFinal ? error : signal.reason
}
