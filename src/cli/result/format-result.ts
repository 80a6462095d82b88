import type { ErrorDetails } from '../../errors.ts'
import { formatJson } from '../../lib/json.ts'

/** The result of a command; docs/result-file.md describes the fields. */
export interface Result {
  ok: boolean
  command: string | null
  exit: number
  code: string | null
  message: string | null
  help: string | null
  /** What the error is about, as data; empty if there is nothing to name. */
  details: ErrorDetails
  /** Running the same command again may succeed. */
  retryable: boolean
  totals: Totals
  backup_id: string | null
  generation: number | null
  warnings: number
  gaps: number
  /** The key of the report in the storage, if `--report` was passed. */
  report: string | null
  started_at: string
  finished_at: string
}

/** Figures of the run by name; figures about another object are nested. */
export interface Totals {
  [name: string]: number | bigint | string | boolean | null | Totals
}

/** The size limit of a Kubernetes termination message. */
export const MAX_RESULT_BYTES = 4096
const MAX_HELP_BYTES = 1024
const MAX_NAME_BYTES = 256

/**
 * Pure. One line of JSON with its newline, at most 4096 bytes. Long texts are truncated, the message last;
 * and least; totals that alone would not fit are left out, and details after them.
 */
export function formatResult(result: Result): string {
  return fit(result) ?? fit({ ...result, totals: {} }) ?? fit({ ...result, totals: {}, details: {} }) ?? ''
}

function fit(result: Result): string | undefined {
  const { message, help, ...rest } = result
  const short = {
    ...rest,
    command: cutNullable(rest.command, MAX_NAME_BYTES),
    code: cutNullable(rest.code, MAX_NAME_BYTES),
    backup_id: cutNullable(rest.backup_id, MAX_NAME_BYTES),
    report: cutNullable(rest.report, MAX_NAME_BYTES * 4),
    started_at: cutText(rest.started_at, MAX_NAME_BYTES),
    finished_at: cutText(rest.finished_at, MAX_NAME_BYTES),
    help: cutNullable(help, MAX_HELP_BYTES),
    details: cutDetails(rest.details),
  }
  const format = (text: string | null) => `${formatJson(inOrder({ ...short, message: text }))}\n`
  if (message === null) return within(format(null))
  const room = MAX_RESULT_BYTES - Buffer.byteLength(format(''))
  return room < 0 ? undefined : within(format(cutText(message, room)))
}

function within(line: string): string | undefined {
  return Buffer.byteLength(line) <= MAX_RESULT_BYTES ? line : undefined
}

/** Puts the result and its reason first, for human readers. */
function inOrder({ ok, command, exit, code, message, help, details, ...rest }: Result): Result {
  return { ok, command, exit, code, message, help, details, ...rest }
}

function cutNullable(text: string | null, maxBytes: number): string | null {
  return text === null ? null : cutText(text, maxBytes)
}

function cutDetails(details: ErrorDetails): ErrorDetails {
  const cut = Object.entries(details).map(([name, value]) => [
    name,
    typeof value === 'string' ? cutText(value, MAX_NAME_BYTES) : value,
  ])
  return Object.fromEntries(cut)
}

const ELLIPSIS = '…'

/** Truncates a text to a number of bytes inside a JSON string, with an ellipsis at the end. */
export function cutText(text: string, maxBytes: number): string {
  const markBytes = jsonBytes(ELLIPSIS)
  let bytes = 0
  let keptLength = 0
  let length = 0
  for (const character of text) {
    bytes += jsonBytes(character)
    if (bytes > maxBytes) return maxBytes < markBytes ? '' : text.slice(0, keptLength) + ELLIPSIS
    length += character.length
    if (bytes <= maxBytes - markBytes) keptLength = length
  }
  return text
}

/** The length of a text inside a JSON string, with its escapes. */
function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2
}
