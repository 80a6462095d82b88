import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { openAgents } from '../bucket/agents.ts'
import type { GcsSession } from './api.ts'
import { type GcsIdentity, openGcsIdentity } from './credentials.ts'
import { type GcsErrorContext, GcsRefusal, mapGcsError } from './error.ts'
import { exchange, type HttpAnswer, type HttpRequest, type Line } from './exchange.ts'
import { endpointOf, type GcsOptions, gcsDefaults } from './options.ts'

export type GcsRequest = Omit<HttpRequest, 'headers'> & { headers?: Record<string, string> }

/** What a request is for, to be said where it fails. */
export interface GcsCall extends Pick<GcsErrorContext, 'action' | 'key' | 'missing'> {
  /** Answers beside 2xx that are none of a failure. */
  expected?: readonly number[]
}

export async function openGcsConnection(options: GcsOptions, location: string, clock?: Clock): Promise<GcsConnection> {
  const identity = await openGcsIdentity(options, location)
  const { connectTimeoutMs, idleTimeoutMs } = { ...gcsDefaults, ...options }
  const agents = await openAgents(options)
  const line = { origin: endpointOf(options), agents, connectTimeoutMs, idleTimeoutMs, ...(clock && { clock }) }
  return new GcsConnection({ line, identity, bucket: options.bucket, location })
}

interface ConnectionParts {
  line: Line
  identity: GcsIdentity
  bucket: string
  location: string
}

/** Sends requests under an identity and tells failures. */
export class GcsConnection {
  readonly #parts: ConnectionParts

  constructor(parts: ConnectionParts) {
    this.#parts = parts
  }

  async send(request: GcsRequest, call: GcsCall, signal: AbortSignal): Promise<HttpAnswer> {
    const { bucket, location } = this.#parts
    try {
      const answer = await this.#identified(request, signal)
      const { status } = answer
      if ((status >= 200 && status < 300) || call.expected?.includes(status)) return answer
      throw refusalOf(answer)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw mapGcsError(error, { ...call, bucket, location })
    }
  }

  /** Taken without its host: a token never goes to another than the endpoint. */
  sessionOf({ headers: { location } }: HttpAnswer): GcsSession {
    const { origin } = this.#parts.line
    if (location !== undefined && URL.canParse(location, origin)) {
      const { pathname, search } = new URL(location, origin)
      return `${pathname}${search}` as GcsSession
    }
    throw new KafkaBackupError('STORAGE_REFUSED', `${this.#parts.location} gave no address to the upload`)
  }

  close(): void {
    const { line, identity } = this.#parts
    identity.close()
    line.agents.httpAgent.destroy()
    line.agents.httpsAgent.destroy()
  }

  /** A token may be withdrawn before its time. A new one is tried once. */
  async #identified(request: GcsRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const { identity, line } = this.#parts
    for (let isFirst = true; ; isFirst = false) {
      const shown = await identity.headers(signal)
      const headers = { 'user-agent': 'kafka-backup', ...request.headers, ...shown }
      const answer = await exchange({ ...request, headers }, line, signal)
      if (answer.status !== 401 || !isFirst || shown.authorization === undefined) return answer
      identity.renew(shown)
    }
  }
}

/** `{"error": {"message": …, "errors": [{"reason": …}]}}`, or a line of text where the request never got that far. */
function refusalOf({ status, body }: HttpAnswer): GcsRefusal {
  const text = body.toString('utf8')
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown; errors?: { reason?: unknown }[] } }
    const reason = String(error?.errors?.[0]?.reason ?? '').replace(/^usageLimits\./, '')
    return new GcsRefusal(status, reason, String(error?.message ?? ''))
  } catch {
    return new GcsRefusal(status, '', text.startsWith('<') ? '' : text)
  }
}
