import { type ErrorCode, KafkaBackupError } from '../../errors.ts'
import { oneLine } from '../../lib/one-line.ts'
import type { HttpAnswer } from './https-exchange.ts'

/** A rejection by the API server, with the data that callers need to decide. */
export class KubeError extends KafkaBackupError {
  /** 0 where there was no answer. */
  readonly status: number
  /** Of the server's `Status` object: `AlreadyExists`, `Expired`. */
  readonly reason: string
  readonly causes: readonly KubeCause[]
  /** How long the server asks to wait; undefined where it does not. */
  readonly retryAfterMs: number | undefined

  constructor(code: ErrorCode, message: string, facts: Partial<KubeFacts> = {}, options: { cause?: unknown } = {}) {
    super(code, message, options)
    this.name = 'KubeError'
    this.status = facts.status ?? 0
    this.reason = facts.reason ?? ''
    this.causes = facts.causes ?? []
    this.retryAfterMs = facts.retryAfterMs
  }
}

interface KubeFacts {
  status: number
  reason: string
  causes: readonly KubeCause[]
  retryAfterMs: number | undefined
}

/** The reason of a cause: the definition of the kind lacks the field. */
export const undeclaredReason = 'FieldNotDeclared'

interface KubeCause {
  reason: string
  message: string
  /** `spec.parallelism`; empty where it is about the whole. */
  field: string
}

/** Maximum delay before a retry, whatever the server requests. */
const MAX_RETRY_AFTER_MS = 60_000
/** Node's codes of certificates and of TLS itself. */
const tlsCodes =
  /^(ERR_SSL_|ERR_TLS_|ERR_OSSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_CA|INVALID_PURPOSE|EPROTO|HOSTNAME_MISMATCH)/

/** `where` says what was asked: `create jobs.batch in namespace "a"`. */
export function classifyAnswer({ status, headers, body }: HttpAnswer, where: string): KubeError {
  const parsed = parseStatus(body)
  const retryAfterMs = parseRetryAfter(headers['retry-after'])
  return refusalOf({ ...parsed, status, retryAfterMs }, where)
}

/** The `Status` object of an `ERROR` event, where the answer itself was a success. */
export function classifyStatus(object: unknown, where: string): KubeError {
  const parsed = parseStatus(JSON.stringify(object))
  return refusalOf({ ...parsed, status: parsed.code, retryAfterMs: undefined }, where)
}

/** A failure below HTTP. */
export function classifyFailure(error: unknown, where: string): KafkaBackupError {
  if (error instanceof KafkaBackupError) return error
  const { code = '', syscall, message } = error as NodeJS.ErrnoException
  // The text of a failed system call has the code in it.
  const why = code === '' || syscall !== undefined ? message : `${code} (${message})`
  return new KubeError(kindOf(code), `cannot ${where}: ${why}`, {}, { cause: error })
}

function refusalOf(said: KubeFacts & { message: string }, where: string): KubeError {
  const text = said.message === '' ? 'no reason given' : said.message
  return new KubeError(codeOf(said), `cannot ${where}: the API server answered ${said.status}: ${text}`, said)
}

function codeOf({ status, reason }: { status: number; reason: string }): ErrorCode {
  if (status === 401) return 'KUBE_AUTH'
  if (status === 403) return 'KUBE_DENIED'
  if (status === 404) return 'KUBE_NOT_FOUND'
  if (status === 409) return reason === 'AlreadyExists' ? 'KUBE_EXISTS' : 'KUBE_CONFLICT'
  if (status === 410) return 'KUBE_GONE'
  if (status === 408 || status === 425 || status === 429 || status >= 500) return 'KUBE_UNREACHABLE'
  return status >= 400 ? 'KUBE_INVALID' : 'KUBE_PROTOCOL'
}

interface StatusObject {
  kind?: unknown
  code?: unknown
  reason?: unknown
  message?: unknown
  details?: { causes?: { reason?: unknown; message?: unknown; field?: unknown }[] }
}

function parseStatus(body: string): Omit<KubeFacts, 'status' | 'retryAfterMs'> & { code: number; message: string } {
  let parsed: StatusObject | undefined
  try {
    parsed = JSON.parse(body) as StatusObject
  } catch {}
  if (parsed?.kind !== 'Status') return { code: 0, reason: '', message: shorten(body), causes: [] }
  const causes = (parsed.details?.causes ?? []).map(({ reason, message, field }) => ({
    reason: textOf(reason),
    message: textOf(message),
    field: textOf(field),
  }))
  const code = typeof parsed.code === 'number' ? parsed.code : 0
  const all = [...causes, ...undeclaredFields(body)]
  return { code, reason: textOf(parsed.reason), message: shorten(textOf(parsed.message)), causes: all }
}

/** An apply with fields that the definition of a kind lacks is answered with 500 and no causes, only a text such as `.status.a: field not declared in schema`. */
function undeclaredFields(body: string): KubeCause[] {
  const found = body.matchAll(/ \.(\w+(?:\.\w+)*): field not declared in schema/g)
  return [...found].map(([text, field = '']) => ({ reason: undeclaredReason, message: text.trim(), field }))
}

/** The API server sends seconds. */
function parseRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d+$/.test(text.trim())) return undefined
  return Math.min(Number(text) * 1000, MAX_RETRY_AFTER_MS)
}

/** By Node's code. `HPE_` are those of bytes that are not HTTP. */
function kindOf(code: string): ErrorCode {
  if (code.startsWith('HPE_')) return 'KUBE_PROTOCOL'
  return tlsCodes.test(code) && !code.includes('UNEXPECTED_EOF') ? 'KUBE_TLS' : 'KUBE_UNREACHABLE'
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The error page of a proxy may be very long. */
function shorten(text: string): string {
  return oneLine(text, 1500)
}
