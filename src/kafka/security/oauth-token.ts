import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { OAuthOptions } from './options.ts'
import { type FormAnswer, postForm } from './post-form.ts'
import { renewAfterMs } from './renewal.ts'
import { readSecret, readText } from './secret.ts'

/** A token is renewed when this part of its life has passed, before sessions (at 85 %) log in again with it. */
const RENEW_AT = 0.8
/** For a token that does not say how long it lives. */
const UNKNOWN_LIFE_MS = 60_000

interface Token {
  text: string
  renewAtMs: number
  endsAtMs: number
}

/** The token that all connections of a cluster share. However many ask at once, one request is made. */
export class OAuthTokenSource {
  readonly #options: OAuthOptions
  readonly #clock: Clock
  readonly #timeoutMs: number
  #token: Token | undefined
  #asking: Promise<Token> | undefined

  constructor(options: OAuthOptions, { clock, timeoutMs }: { clock: Clock; timeoutMs: number }) {
    this.#options = options
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  async token(signal: AbortSignal): Promise<string> {
    const held = this.#token
    if (held && this.#clock.now() < held.renewAtMs) return held.text
    // Without the caller's signal: others wait for the same answer.
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    try {
      this.#token = await orAborted(this.#asking, signal)
      return this.#token.text
    } catch (error) {
      signal.throwIfAborted()
      // A token endpoint that is away for a while does no harm as long as the token still lives.
      if (held && this.#clock.now() < held.endsAtMs) return held.text
      throw error
    }
  }

  async #ask(): Promise<Token> {
    const { tokenUrl, clientId, clientAuth, scope, audience, caCert } = this.#options
    const secret = await readSecret(this.#options.clientSecret, this.#options.clientSecretFile, 'client secret')
    const ca = caCert === undefined ? undefined : await readText(caCert, 'CA certificate of the token endpoint')
    const isPost = clientAuth === 'post'
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      ...(scope !== undefined && { scope }),
      ...(audience !== undefined && { audience }),
      ...(isPost && { client_id: clientId, client_secret: secret }),
    })
    const credentials = `${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`
    const authorization = isPost ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`
    const request = { url: tokenUrl, form: form.toString(), authorization, ca, timeoutMs: this.#timeoutMs }
    return parseToken(await postForm(request, this.#clock), nameOf(tokenUrl), this.#clock.now())
  }
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** The endpoint for messages, without a query: some put a key there. */
export function nameOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return `the token endpoint ${origin}${pathname}`
}

function parseToken({ status, body }: FormAnswer, endpoint: string, nowMs: number): Token {
  const answer = parseObject(body)
  if (status >= 500 || status === 429) {
    throw new KafkaBackupError('KAFKA_UNREACHABLE', `${endpoint} answered with status ${status}`, { help: awayHelp })
  }
  if (status !== 200) throw refused(`${endpoint} gave no token: status ${status}${describeError(answer)}`)
  const text = answer?.access_token
  if (typeof text !== 'string' || !/^[\x21-\x7e]+$/.test(text)) {
    throw refused(`${endpoint} gave no token: its answer has no access_token`)
  }
  const lifeMs = lifeOf(answer?.expires_in, text, nowMs)
  return { text, renewAtMs: nowMs + renewAfterMs(lifeMs, RENEW_AT), endsAtMs: nowMs + lifeMs }
}

function describeError(answer: Record<string, unknown> | undefined): string {
  const parts = [answer?.error, answer?.error_description].filter(part => typeof part === 'string')
  return parts.length === 0 ? '' : `, ${parts.join(': ')}`
}

/** As the endpoint says and, when the token is a JWT, as it says itself: whichever is shorter. */
function lifeOf(expiresIn: unknown, token: string, nowMs: number): number {
  const claims = parseObject(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const lives = [Number(expiresIn) * 1000, Number(claims?.exp) * 1000 - nowMs].filter(life => life > 0)
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

const awayHelp = 'Check the token endpoint and the network, then run the command again.'

function refused(message: string): KafkaBackupError {
  return new KafkaBackupError('KAFKA_AUTH', message, {
    help: 'Check `token_url`, `client_id`, the secret and `scope`.',
  })
}
