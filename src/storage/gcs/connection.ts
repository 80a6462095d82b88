import { KafkaBackupError } from '../../errors.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { AnswerTooLong, type HttpAnswer, type HttpRequest, sendHttp } from '../../lib/http.ts'
import { textOf } from '../../lib/json.ts'
import { openAgents, type StoreAgents } from '../bucket/agents.ts'
import { refuseLargeRead } from '../object-limits.ts'
import { ForeignAnswer } from '../request-error.ts'
import type { GcsSession } from './api.ts'
import { type GcsIdentity, openGcsIdentity } from './credentials.ts'
import { type GcsErrorContext, GcsRefusal, mapGcsError } from './error.ts'
import { endpointOf, type GcsOptions, gcsDefaults } from './gcs-options.ts'

export type GcsRequest = Pick<HttpRequest, 'method' | 'path' | 'body'> & {
  headers?: Record<string, string>
  /** Of the answer. */
  maxBytes?: number
}

/** Of ranges, and of responses that are not an object. */
const MAX_RESPONSE_BYTES = 1024 ** 3

/** What a request is for, for messages. */
interface GcsCall extends Pick<GcsErrorContext, 'action' | 'key' | 'missing'> {
  /** Statuses other than 2xx that are not failures. */
  expected?: readonly number[]
  /** A success is the bytes of an object. */
  isDownload?: boolean
}

export async function openGcsConnection(
  options: GcsOptions,
  location: string,
  clock: Clock = systemClock,
): Promise<GcsConnection> {
  const identity = await openGcsIdentity(options, location)
  const { connectTimeoutMs: connectMs, idleTimeoutMs: idleMs } = { ...gcsDefaults, ...options }
  const agents = await openAgents(options)
  const origin = endpointOf(options)
  const agent = /^https:/i.test(origin) ? agents.httpsAgent : agents.httpAgent
  const endpoint = { origin, agent, timeouts: { connectMs, idleMs }, maxBytes: MAX_RESPONSE_BYTES }
  return new GcsConnection({ endpoint, agents, clock, identity, bucket: options.bucket, location })
}

interface ConnectionParts {
  endpoint: Pick<HttpRequest, 'origin' | 'agent' | 'timeouts' | 'maxBytes'>
  agents: StoreAgents
  clock: Clock
  identity: GcsIdentity
  bucket: string
  location: string
}

/** Sends requests with credentials and classifies failures. */
export class GcsConnection {
  readonly #parts: ConnectionParts

  constructor(parts: ConnectionParts) {
    this.#parts = parts
  }

  async send(request: GcsRequest, call: GcsCall, signal: AbortSignal): Promise<HttpAnswer> {
    const { location } = this.#parts
    try {
      const answer = await this.#identified(request, signal)
      const { status } = answer
      if (call.expected?.includes(status)) return answer
      if (status < 200 || status >= 300) throw refusalOf(answer)
      assertSuccess(answer, call)
      return answer
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (error instanceof AnswerTooLong) refuseLargeRead(call.key, error.bytes, location)
      throw this.#explained(error, call)
    }
  }

  /** The resource of the response; `parse` rejects one of another kind. */
  async receive<T>(
    request: GcsRequest,
    call: GcsCall,
    parse: (answer: HttpAnswer) => T,
    signal: AbortSignal,
  ): Promise<T> {
    const answer = await this.send(request, call, signal)
    try {
      return parse(answer)
    } catch (error) {
      throw this.#explained(error, call)
    }
  }

  /** Without its host: a token is never sent to any host but the endpoint. */
  sessionOf({ headers: { location } }: HttpAnswer): GcsSession {
    const { origin } = this.#parts.endpoint
    if (location !== undefined && URL.canParse(location, origin)) {
      const { pathname, search } = new URL(location, origin)
      return `${pathname}${search}` as GcsSession
    }
    throw new KafkaBackupError('STORAGE_PROTOCOL', `${this.#parts.location} returned no address for the upload`)
  }

  close(): void {
    const { agents, identity } = this.#parts
    identity.close()
    agents.httpAgent.destroy()
    agents.httpsAgent.destroy()
  }

  #explained(error: unknown, call: GcsCall): unknown {
    const { bucket, location } = this.#parts
    return mapGcsError(error, { ...call, bucket, location })
  }

  /** A token may be revoked before it expires. Retries once with a new one. */
  async #identified(request: GcsRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const { identity, endpoint, clock } = this.#parts
    for (let isFirst = true; ; isFirst = false) {
      const shown = await identity.headers(signal)
      const headers = { 'user-agent': 'kafka-backup', ...request.headers, ...shown }
      const answer = await sendHttp({ ...endpoint, ...request, headers }, clock, signal)
      if (answer.status !== 401 || !isFirst || shown.authorization === undefined) return answer
      identity.renew(shown)
    }
  }
}

/** Emulators send headers of Cloud Storage with a download only. */
function assertSuccess(answer: HttpAnswer, { isDownload = false }: GcsCall): void {
  const { status, headers } = answer
  if (isOfGoogle(answer)) return
  if (isDownload) throw new ForeignAnswer(status, 'it has no x-goog-generation')
  if (/^text\/html\b/i.test(headers['content-type'] ?? '')) throw new ForeignAnswer(status, 'it is an HTML page')
}

function isOfGoogle({ headers }: HttpAnswer): boolean {
  return Object.keys(headers).some(name => name.startsWith('x-goog-') || name === 'x-guploader-uploadid')
}

/**
 * `{"error": {"message": …, "errors": [{"reason": …}]}}`, or a line of text if the request never got that far. Without either
 * and without a header of Cloud Storage, a status 404 does not mean that something is missing.
 */
function refusalOf(answer: HttpAnswer): Error {
  const { status, body } = answer
  const text = body.toString('utf8')
  try {
    const { error } = JSON.parse(text) as { error: { message?: unknown; errors?: { reason?: unknown }[] } }
    const reason = textOf(error.errors?.[0]?.reason).replace(/^usageLimits\./, '')
    return new GcsRefusal(status, reason, textOf(error.message))
  } catch {
    if (status === 404 && !isOfGoogle(answer)) return new ForeignAnswer(status, 'it has no error of Cloud Storage')
    return new GcsRefusal(status, '', text.startsWith('<') ? '' : text)
  }
}
