import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { rootCertificates } from 'node:tls'
import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { exchange, type HttpAnswer, type Timeouts } from './http-exchange.ts'
import type { OAuthOptions } from './options.ts'
import { classifyFailure, withoutSecrets } from './registry-error.ts'

/** A token is renewed when this part of its life has passed. */
const RENEW_AT = 0.8
/** For a token whose endpoint does not say how long it lives. */
const UNKNOWN_LIFE_MS = 60_000

interface Token {
  text: string
  renewAtMs: number
  endsAtMs: number
}

export interface TokenParts {
  clock: Clock
  timeouts: Timeouts
  /** PEM of the registry's CA. */
  ca: string | undefined
}

/** The bearer token that all requests share. However many ask at once, one request is made. */
export class TokenSource {
  readonly #options: OAuthOptions
  readonly #parts: TokenParts
  #token: Token | undefined
  #asking: Promise<Token> | undefined

  constructor(options: OAuthOptions, parts: TokenParts) {
    this.#options = options
    this.#parts = parts
  }

  async token(signal: AbortSignal): Promise<string> {
    const { clock } = this.#parts
    const held = this.#token
    if (held && clock.now() < held.renewAtMs) return held.text
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    try {
      this.#token = await orAborted(this.#asking, signal)
      return this.#token.text
    } catch (error) {
      signal.throwIfAborted()
      // An endpoint that is away for a while does no harm as long as the token still lives.
      if (held && clock.now() < held.endsAtMs) return held.text
      throw error
    }
  }

  /** Forgets a token that the registry refused, unless another one has come meanwhile. */
  forget(text: string): void {
    if (this.#token?.text === text) this.#token = undefined
  }

  async #ask(): Promise<Token> {
    const { tokenUrl, clientId, clientSecret, scope } = this.#options
    const { clock, timeouts, ca } = this.#parts
    const { origin, pathname, search } = new URL(tokenUrl)
    const where = `the token endpoint ${withoutSecrets(tokenUrl)}`
    const credentials = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`)
    const agent = openAgent(origin, ca)
    const request = {
      origin,
      path: `${pathname}${search}`,
      method: 'POST',
      headers: {
        accept: 'application/json',
        authorization: `Basic ${credentials.toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ grant_type: 'client_credentials', ...(scope !== undefined && { scope }) }).toString(),
      agent,
      timeouts,
    }
    try {
      // Without the signal of a caller: others wait for the same answer.
      const answer = await exchange(request, clock, new AbortController().signal)
      return parseToken(answer, where, clock.now())
    } catch (error) {
      throw classifyFailure(error, where)
    } finally {
      agent.destroy()
    }
  }
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** The registry's CA is trusted here beside the public ones: the endpoint is often another company's. */
function openAgent(origin: string, ca: string | undefined): HttpAgent {
  if (!origin.startsWith('https:')) return new HttpAgent()
  return new HttpsAgent({
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
  })
}

function parseToken({ status, body }: HttpAnswer, where: string, nowMs: number): Token {
  const answer = parseObject(body)
  if (status >= 500 || status === 429) {
    throw new KafkaBackupError('REGISTRY_UNREACHABLE', `${where} answered ${status}`)
  }
  const text = answer?.access_token
  if (status !== 200 || typeof text !== 'string' || !/^[\x21-\x7e]+$/.test(text)) {
    const said = [answer?.error, answer?.error_description].filter(part => typeof part === 'string').join(': ')
    const why = status === 200 ? 'its answer has no access_token' : `it answered ${status}${said && `, ${said}`}`
    throw new KafkaBackupError('REGISTRY_AUTH', `${where} gave no token: ${why}`, {
      help: 'Check `token_url`, `client_id`, `client_secret` and `scope` under `enterprise.schema_registry.auth`.',
    })
  }
  const seconds = Number(answer?.expires_in)
  const lifeMs = seconds > 0 ? seconds * 1000 : UNKNOWN_LIFE_MS
  return { text, renewAtMs: nowMs + lifeMs * RENEW_AT, endsAtMs: nowMs + lifeMs }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}
