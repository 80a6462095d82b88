import type { Agent } from 'node:http'
import { untilAborted } from './abort.ts'
import type { Clock } from './clock.ts'
import { type HttpTimeouts, sendHttp } from './http.ts'
import { numberOf } from './json.ts'
import { renewAfterMs } from './renewal.ts'

/** A token is renewed when this part of its life has passed, before Kafka sessions (at 85 %) log in again with it. */
const RENEW_AT = 0.8
/** For a token without a known end. */
const UNKNOWN_LIFE_MS = 60_000
const MAX_ANSWER_BYTES = 1 << 20

export interface Token {
  text: string
  renewAtMs: number
  endsAtMs: number
}

/** Keeps a token and renews it in time. Any number of callers share one request. */
export class TokenSource {
  readonly #request: () => Promise<Token>
  readonly #clock: Clock
  #token: Token | undefined
  #requesting: Promise<Token> | undefined

  constructor(request: () => Promise<Token>, clock: Clock) {
    this.#request = request
    this.#clock = clock
  }

  async token(signal: AbortSignal): Promise<string> {
    const held = this.#token
    if (held && this.#clock.now() < held.renewAtMs) return held.text
    // Not aborted by the caller's signal: others wait for the same answer.
    this.#requesting ??= this.#request().finally(() => {
      this.#requesting = undefined
    })
    try {
      this.#token = await untilAborted(this.#requesting, signal)
      return this.#token.text
    } catch (error) {
      signal.throwIfAborted()
      // The token endpoint may be down for a while as long as the token is valid.
      if (held && this.#clock.now() < held.endsAtMs) return held.text
      throw error
    }
  }

  /** Drops a token that the server refused, unless it was replaced meanwhile. */
  forget(text: string): void {
    if (this.#token?.text === text) this.#token = undefined
  }
}

interface ClientCredentials {
  clientId: string
  clientSecret: string
  /** Where the credentials are sent: in the form, or in the Authorization header. */
  clientAuth?: 'basic' | 'post'
  scope?: string | undefined
  audience?: string | undefined
}

/** Rejects with Node's own errors. The agent serves this request only and is destroyed. */
export async function requestToken(
  tokenUrl: string,
  credentials: ClientCredentials,
  { agent, timeouts, clock }: { agent: Agent; timeouts: HttpTimeouts; clock: Clock },
): Promise<TokenAnswer> {
  const { origin, pathname, search } = new URL(tokenUrl)
  const { headers, body } = formatTokenRequest(credentials)
  const target = { origin, path: `${pathname}${search}`, method: 'POST', agent, timeouts, maxBytes: MAX_ANSWER_BYTES }
  try {
    const answer = await sendHttp({ ...target, headers, body: [body] }, clock, new AbortController().signal)
    return parseTokenAnswer(answer, clock.now())
  } finally {
    agent.destroy()
  }
}

/** The client credentials grant (RFC 6749, section 4.4). */
function formatTokenRequest(given: ClientCredentials): { headers: Record<string, string>; body: Buffer } {
  const { clientId, clientSecret, clientAuth = 'basic', scope, audience } = given
  const isPost = clientAuth === 'post'
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(scope !== undefined && { scope }),
    ...(audience !== undefined && { audience }),
    ...(isPost && { client_id: clientId, client_secret: clientSecret }),
  })
  const credentials = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`)
  return {
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...(!isPost && { authorization: `Basic ${credentials.toString('base64')}` }),
    },
    body: Buffer.from(form.toString()),
  }
}

/** `unavailable`: the same request may succeed later. `refused`: it will not. */
export type TokenAnswer = { token: Token } | { problem: 'unavailable' | 'refused'; reason: string }

function parseTokenAnswer({ status, body }: { status: number; body: Buffer }, nowMs: number): TokenAnswer {
  if (status >= 500 || status === 429) return { problem: 'unavailable', reason: `status ${status}` }
  const answer = parseObject(body.toString())
  if (status !== 200) {
    const parts = [`status ${status}`, answer?.error, answer?.error_description]
    const [first, ...said] = parts.filter(part => typeof part === 'string')
    return { problem: 'refused', reason: said.length === 0 ? `${first}` : `${first}, ${said.join(': ')}` }
  }
  const text = answer?.access_token
  if (typeof text !== 'string' || !/^[\x21-\x7e]+$/.test(text)) {
    return { problem: 'refused', reason: 'its answer has no access_token' }
  }
  const lifeMs = lifeOf(answer?.expires_in, text, nowMs)
  return { token: { text, renewAtMs: nowMs + renewAfterMs(lifeMs, RENEW_AT), endsAtMs: nowMs + lifeMs } }
}

/** From the answer of the endpoint and, for a JWT, from its claim: the shorter one. */
function lifeOf(expiresIn: unknown, token: string, nowMs: number): number {
  const claims = parseObject(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const lives = [numberOf(expiresIn) * 1000, numberOf(claims?.exp) * 1000 - nowMs].filter(life => life > 0)
  return lives.length === 0 ? UNKNOWN_LIFE_MS : Math.min(...lives)
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}
