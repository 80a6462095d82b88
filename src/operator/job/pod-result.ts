import type { RunEstimate } from '../crd/status.ts'

/** What a pod says of itself in its termination message; docs/result-file.md has all fields. */
export interface PodResult {
  exit: number
  command: string
  code: string | undefined
  message: string
  help: string
  isRetryable: boolean
  /** Nothing was changed: it only showed what it would do. */
  isDryRun: boolean
  gaps: number
  records: number | undefined
  bytes: number | undefined
  /** What the whole backup takes in the store. */
  storedBytes: number | undefined
  /** Partitions of the backup that may hold keys which were deleted at the source. */
  mayHoldDeletedKeys: number | undefined
  /** Of the time of a restore. */
  estimate: RunEstimate | undefined
  /** Groups whose committed offsets were set, kept or compared. */
  groups: number | undefined
  /** Of a drill. */
  recoverySeconds: number | undefined
  snapshotId: string | undefined
  report: string | undefined
}

/** Maximum size of a termination message in Kubernetes. */
const MAX_MESSAGE_BYTES = 4096
const MAX_TEXT = 800
const MAX_NAME = 256

/**
 * The result in a termination message. Undefined without one: the process was killed, or the text is from the log, from another
 * program, or cut. The pod controls the text, so every field is checked and bounded.
 */
export function parsePodResult(message: string | undefined): PodResult | undefined {
  if (message === undefined || message.length > MAX_MESSAGE_BYTES) return undefined
  const result = parseObject(message)
  const exit = count(result?.exit)
  if (result === undefined || exit === undefined || typeof result.ok !== 'boolean') return undefined
  const totals = asObject(result.totals) ?? {}
  const command = text(result.command, MAX_NAME)
  return {
    exit,
    command,
    code: code(result.code),
    message: text(result.message, MAX_TEXT),
    help: text(result.help, MAX_TEXT),
    isRetryable: result.retryable === true,
    isDryRun: totals.dry_run === true || command === 'offsets plan',
    gaps: count(result.gaps) ?? 0,
    records: count(totals.records),
    bytes: count(totals.bytes),
    storedBytes: count(asObject(totals.backup)?.stored_bytes),
    mayHoldDeletedKeys: count(asObject(totals.backup)?.may_hold_deleted_keys),
    estimate: parseEstimate(asObject(totals.estimate)),
    groups: groupsDone(command, totals),
    recoverySeconds: command.startsWith('drill') ? duration(totals.recovery_seconds) : undefined,
    snapshotId: name(totals.snapshot_id),
    report: name(result.report),
  }
}

function parseObject(message: string): Record<string, unknown> | undefined {
  try {
    return asObject(JSON.parse(message))
  } catch {
    return undefined
  }
}

function asObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined
}

const precisions = ['about', 'at_least', 'at_most'] as const

function parseEstimate(estimate: Record<string, unknown> = {}): RunEstimate | undefined {
  const seconds = duration(estimate.seconds)
  const precision = precisions.find(one => one === estimate.precision)
  if (seconds === undefined || precision === undefined) return undefined
  const limitedBy = name(estimate.limited_by)
  const actualSeconds = duration(estimate.actual_seconds)
  return {
    ...{ seconds, precision },
    ...(limitedBy !== undefined && { limitedBy }),
    ...(actualSeconds !== undefined && { actualSeconds }),
  }
}

function duration(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined
}

/** As the reason of a condition may be written. */
function code(value: unknown): string | undefined {
  return typeof value === 'string' && /^[A-Z][A-Z0-9_]{1,62}[A-Z0-9]$/.test(value) ? value : undefined
}

/** A key or an id: one that is longer is none. */
function name(value: unknown): string | undefined {
  return typeof value === 'string' && /^[!-~]{1,1024}$/.test(value) ? value : undefined
}

function text(value: unknown, maxLength: number): string {
  return typeof value === 'string' ? cutText(value, maxLength) : ''
}

/** One line without control characters, of at most so many characters; what is cut ends with a mark. */
export function cutText(value: string, maxLength: number): string {
  const line = value
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029\s]+/gu, ' ')
    .trim()
    .toWellFormed()
  const characters = [...line]
  return characters.length <= maxLength ? line : `${characters.slice(0, maxLength - 1).join('')}…`
}

/** Groups that were set, kept by a snapshot, or compared with one. */
function groupsDone(command: string, totals: Record<string, unknown>): number | undefined {
  switch (command) {
    case 'offsets verify':
      return count(totals.groups)
    case 'restore':
    case 'offsets snapshot':
      return count(Number(totals.groups) - (count(totals.groups_failed) ?? 0))
    case 'offsets reset':
    case 'offsets rollback':
      return count(totals.groups_set)
    default:
      return undefined
  }
}
