import { type ErrorCode, KafkaBackupError } from '../../errors.ts'
import { AnswerTooLong, type HttpAnswer, HttpTimeout } from '../../lib/http.ts'
import { isTooDeep, MAX_JSON_DEPTH } from '../../lib/json.ts'

export type RegistryAnswer = Omit<HttpAnswer, 'body'> & { body: string }

/** An answer that is not a success, with what callers decide by. */
export class RegistryError extends KafkaBackupError {
  readonly status: number
  /** `error_code` of the body, such as 40401; null where the body has none. */
  readonly errorCode: number | null
  /** How long the server asks to wait. */
  readonly retryAfterMs: number

  constructor(
    code: ErrorCode,
    message: string,
    facts: { status: number; errorCode: number | null; retryAfterMs?: number },
  ) {
    // With a code of its own it is the registry that misses a thing, not the address that is wrong.
    const isMissing = code === 'REGISTRY_NOT_FOUND' && facts.errorCode !== null
    super(code, message, isMissing ? { help: 'The registry does not have it, or does not have it any more.' } : {})
    this.name = 'RegistryError'
    this.status = facts.status
    this.errorCode = facts.errorCode
    this.retryAfterMs = facts.retryAfterMs ?? 0
  }
}

/** The maximum wait between two tries, even if a server asks for more. */
const MAX_RETRY_AFTER_MS = 60_000
const passingStatus = new Set([408, 425, 429, 500, 502, 503, 504])
/** Node's codes of certificates and of TLS itself. */
const tlsCodes =
  /^(ERR_SSL_|ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_CA|INVALID_PURPOSE|EPROTO|HOSTNAME_MISMATCH)/

/** In a backup, parts of an answer lie some levels deeper, and must be readable there. */
const MAX_DEPTH = MAX_JSON_DEPTH / 2

/** The JSON of a body; no registry nests it deep. */
export function parseBody(body: string, where: string, status: number): unknown {
  const facts = { status, errorCode: null }
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    throw new RegistryError('REGISTRY_PROTOCOL', `${where} answered with something that is not JSON`, facts)
  }
  if (!isTooDeep(value, MAX_DEPTH)) return value
  throw new RegistryError('REGISTRY_PROTOCOL', `${where} answered with more than ${MAX_DEPTH} levels of JSON`, facts)
}

/** `where` names method, address and subject: `GET http://r:8081/subjects (subject "a")`. */
export function classifyAnswer(answer: RegistryAnswer, where: string, nowMs: number): RegistryError {
  const { status } = answer
  const { errorCode, message } = parseErrorBody(answer)
  const facts = { status, errorCode, retryAfterMs: parseRetryAfter(answer.headers['retry-after'], nowMs) }
  const said = `${where} answered ${status}${errorCode === null ? '' : `, error code ${errorCode}`}: ${message}`
  return new RegistryError(codeOf(status, errorCode), said, facts)
}

function codeOf(status: number, errorCode: number | null): ErrorCode {
  if (passingStatus.has(status) || (errorCode !== null && errorCode >= 50001 && errorCode <= 50004)) {
    return 'REGISTRY_UNREACHABLE'
  }
  if (status === 401 || status === 403) return 'REGISTRY_AUTH'
  if (status === 404) return 'REGISTRY_NOT_FOUND'
  if (status >= 300 && status < 400) return 'REGISTRY_PROTOCOL'
  return 'REGISTRY_REFUSED'
}

function parseErrorBody(answer: RegistryAnswer): { errorCode: number | null; message: string } {
  const { body, status } = answer
  const location = answer.headers.location
  if (status >= 300 && status < 400 && location !== undefined) {
    return { errorCode: null, message: `it redirects to ${withoutSecrets(location)}; set that address in url` }
  }
  if (isHtml(answer)) return { errorCode: null, message: describeHtml(body) }
  try {
    const parsed = JSON.parse(body) as { error_code?: unknown; message?: unknown; detail?: unknown } | null
    const text = parsed?.message ?? parsed?.detail
    return {
      errorCode: typeof parsed?.error_code === 'number' ? parsed.error_code : null,
      message: typeof text === 'string' ? shorten(text) : 'no message',
    }
  } catch {
    return { errorCode: null, message: body.trim() === '' ? 'no body' : shorten(body) }
  }
}

export function isHtml({ headers, body }: RegistryAnswer): boolean {
  return /\bhtml\b/i.test(headers['content-type'] ?? '') || /^\s*<(!doctype|html)/i.test(body)
}

/** No registry sends pages; the title is what a proxy in front of it has to say. */
export function describeHtml(body: string): string {
  const title = /<title>([^<]+)<\/title>/i.exec(body)?.[1]
  return `a page of HTML${title === undefined ? '' : ` with the title "${shorten(title)}"`}, not JSON`
}

/** Seconds, or a date. */
function parseRetryAfter(text: string | undefined, nowMs: number): number {
  if (text === undefined) return 0
  const ms = /^\d+$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - nowMs
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : 0
}

/** A failure below HTTP. */
export function classifyFailure(error: unknown, where: string): KafkaBackupError {
  if (error instanceof KafkaBackupError) return error
  const { code = '', message, reason = message } = error as NodeJS.ErrnoException & { reason?: string }
  const why = code === '' || error instanceof HttpTimeout ? message : `${meaningOf(code) ?? reason} (${code})`
  const kind = error instanceof AnswerTooLong ? 'REGISTRY_PROTOCOL' : kindOf(code)
  return new KafkaBackupError(kind, `${where} failed: ${why}`, { cause: error, help: helpOf(code) })
}

const meanings: Record<string, string> = {
  ECONNREFUSED: 'the server refused the connection',
  ECONNRESET: 'the server closed the connection',
  ENOTFOUND: 'the host name cannot be resolved',
  EAI_AGAIN: 'the host name cannot be resolved',
  EHOSTUNREACH: 'the server cannot be reached over the network',
  ENETUNREACH: 'the server cannot be reached over the network',
}
/** Mostly an answer in plain text; the message has only the functions and files of OpenSSL. */
const notTls = /^(EPROTO|ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST))$/
const untrusted =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT)/

function meaningOf(code: string): string | undefined {
  if (notTls.test(code)) return 'the TLS handshake failed; the server may not speak TLS'
  return untrusted.test(code) ? 'the certificate of the server is not signed by a trusted CA' : meanings[code]
}

function helpOf(code: string): string | undefined {
  const section = 'enterprise.schema_registry'
  if (notTls.test(code)) return `Use \`http://\` in \`${section}.url\`, or the TLS port of the registry.`
  if (!untrusted.test(code)) return undefined
  return `Set \`${section}.tls.ca_cert\` to the file of the CA that signed the certificate.`
}

/** By Node's code. `HPE_` are those of bytes that are not HTTP. */
function kindOf(code: string): ErrorCode {
  if (code.startsWith('HPE_')) return 'REGISTRY_PROTOCOL'
  return tlsCodes.test(code) && !code.includes('UNEXPECTED_EOF') ? 'REGISTRY_TLS' : 'REGISTRY_UNREACHABLE'
}

/** An address without login and query, either of which may hold a secret. */
export function withoutSecrets(address: string): string {
  try {
    const { origin, pathname } = new URL(address)
    return `${origin}${pathname}`
  } catch {
    return address.replace(/\?.*$/s, '')
  }
}

function shorten(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > 300 ? `${line.slice(0, 300)}…` : line
}
