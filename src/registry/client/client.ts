import { hasCode, KafkaBackupError } from '../../errors.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { sendHttp } from '../../lib/http.ts'
import { RateLimiter } from '../../lib/rate-limiter.ts'
import { retry } from '../../lib/retry.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { type Address, formatQuery, parseAddress } from './address.ts'
import { defaultAttempts, defaultConcurrency, type RegistryOptions, timeoutsOf } from './client-options.ts'
import { type Agents, type Login, makeLogin, openAgents } from './login.ts'
import {
  classifyAnswer,
  classifyFailure,
  describeHtml,
  isHtml,
  parseBody,
  type RegistryAnswer,
  RegistryError,
} from './registry-error.ts'

export interface RegistryCall {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below the base path, its segments encoded. */
  path: string
  query?: Record<string, string | number | boolean>
  body?: unknown
  /** For messages. */
  subject?: string
  /** Derives another base path from the configured one, for a vendor's own API. */
  basePath?: (configured: string) => string
}

interface ClientParts {
  options: RegistryOptions
  agents: Agents
  login: Login
  clock: Clock
}

/** What a success without a body gives. It is not `null`, which some registries write for an empty list. */
export const noBody = Symbol('no body')

const MAX_REDIRECTS = 3
/** A page of schemas has some megabytes. A longer answer does not come from a registry. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024
const headers = {
  accept: 'application/vnd.schemaregistry.v1+json, application/json',
  /** Without it, Confluent Cloud leaves out guid and deleted. */
  'confluent-accept-unknown-properties': 'true',
}

/** Opens no connection yet; TLS files are read and settings are checked. */
export async function openRegistryClient(
  options: RegistryOptions,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<RegistryClient> {
  const addresses = options.urls.map(parseAddress)
  const { agents, ca } = await openAgents(options)
  const login = makeLogin(options.auth, { clock, timeouts: timeoutsOf(options), ca })
  return new RegistryClient(addresses, { options, agents, login, clock })
}

/**
 * Sends requests to a registry and gives back the JSON of its answers. What may pass is tried again, over all addresses;
 * what fails for good is thrown with method, address, subject and the registry's own code. Must be closed.
 */
export class RegistryClient {
  /** Exchanges so far, those that failed included. */
  requests = 0
  readonly clock: Clock
  readonly #addresses: readonly Address[]
  readonly #parts: ClientParts
  readonly #gate: Semaphore
  readonly #limiter: RateLimiter | undefined
  readonly #turns = new Semaphore(1)
  /** The address that answered last. */
  #current = 0

  constructor(addresses: readonly Address[], parts: ClientParts) {
    if (addresses.length === 0) throw new KafkaBackupError('CONFIG_INVALID', 'enterprise.schema_registry.url is empty')
    this.#addresses = addresses
    this.#parts = parts
    this.clock = parts.clock
    const { concurrency = defaultConcurrency, rateLimitRps } = parts.options
    this.#gate = new Semaphore(concurrency)
    this.#limiter = rateLimitRps === undefined ? undefined : new RateLimiter(rateLimitRps, parts.clock)
  }

  get concurrency(): number {
    return this.#parts.options.concurrency ?? defaultConcurrency
  }

  /** For messages: where the registry is, without a login. */
  get name(): string {
    return this.#addresses.map(({ origin, basePath }) => `${origin}${basePath}`).join(', ')
  }

  /** The JSON of a success; `noBody` for one without. */
  call(call: RegistryCall, signal: AbortSignal): Promise<unknown> {
    const policy = { attempts: this.#parts.options.attempts ?? defaultAttempts, baseDelayMs: 250, maxDelayMs: 5000 }
    const parts = {
      clock: this.clock,
      isRetryable: (error: unknown) => error instanceof KafkaBackupError && error.retryable,
      leastDelayMs: (error: unknown) => (error instanceof RegistryError ? error.retryAfterMs : 0),
    }
    return this.#gate.run(() => retry(() => this.#overAddresses(call, signal), policy, parts, signal))
  }

  /** Like `call`; undefined where the registry itself says that it does not have the thing asked for. */
  async find(call: RegistryCall, signal: AbortSignal): Promise<unknown> {
    try {
      return await this.call(call, signal)
    } catch (error) {
      const isAbsent = error instanceof RegistryError && error.status === 404 && error.errorCode !== null
      if (isAbsent) return undefined
      throw error
    }
  }

  /**
   * Like `call`; undefined where the server does not know the path, does not show it, or shows something else there.
   * `onDenied` is called if access rules, or pages of a proxy, hide the answer: the thing may exist.
   */
  async probe(
    call: RegistryCall,
    signal: AbortSignal,
    onDenied: (error: RegistryError) => void = () => undefined,
  ): Promise<unknown> {
    try {
      return await this.call(call, signal)
    } catch (error) {
      const isDenied = hasCode(error, 'REGISTRY_AUTH', 'REGISTRY_PROTOCOL')
      if (isDenied && error instanceof RegistryError) onDenied(error)
      if (error instanceof RegistryError && !error.retryable) return undefined
      throw error
    }
  }

  close(): void {
    this.#parts.agents.close()
  }

  /** Each address once, from the one that answered last; the last failure counts where none does. */
  async #overAddresses(call: RegistryCall, signal: AbortSignal): Promise<unknown> {
    let failure: unknown
    for (let tried = 0; tried < this.#addresses.length; tried++) {
      const at = this.#current
      const address = this.#addresses[at]
      if (address === undefined) break
      try {
        return await this.#send(address, call, signal)
      } catch (error) {
        signal.throwIfAborted()
        failure = error
        if (!(error instanceof KafkaBackupError && error.retryable)) throw error
        // Others may have moved on from it already.
        if (this.#current === at) this.#current = (at + 1) % this.#addresses.length
      }
    }
    throw failure
  }

  async #send(address: Address, call: RegistryCall, signal: AbortSignal): Promise<unknown> {
    const { method = 'GET', basePath = same => same } = call
    let path = `${basePath(address.basePath)}${call.path}${formatQuery(call.query)}`
    for (let redirects = 0; ; redirects++) {
      const where = describe(method, `${address.origin}${path}`, call.subject)
      const answer = await this.#exchange(address, { ...call, method, path }, where, signal)
      const onward = method === 'GET' ? sameOrigin(answer, address.origin, path) : undefined
      if (onward === undefined || redirects === MAX_REDIRECTS) return parseAnswer(answer, where, this.clock.now())
      path = onward
    }
  }

  /** One exchange; where the login is refused and can be renewed, a second one. */
  async #exchange(
    { origin, authorization: ofAddress }: Address,
    { method = 'GET', path, body }: RegistryCall,
    where: string,
    signal: AbortSignal,
  ): Promise<RegistryAnswer> {
    const { agents, login, options, clock } = this.#parts
    const send = async (authorization: string | undefined) => {
      await this.#pace(signal)
      this.requests++
      const request = {
        origin,
        path,
        method,
        headers: {
          ...headers,
          ...(authorization !== undefined && { authorization }),
          ...(body !== undefined && { 'content-type': 'application/vnd.schemaregistry.v1+json' }),
        },
        ...(body !== undefined && { body: [Buffer.from(JSON.stringify(body))] }),
        agent: agents.for(origin),
        timeouts: timeoutsOf(options),
        maxBytes: MAX_ANSWER_BYTES,
      }
      const answer = await sendHttp(request, clock, signal)
      return { ...answer, body: answer.body.toString('utf8') }
    }
    try {
      const shown = (await login.authorization(signal)) ?? ofAddress
      const answer = await send(shown)
      return answer.status === 401 && login.refused(shown) ? await send(await login.authorization(signal)) : answer
    } catch (error) {
      signal.throwIfAborted()
      throw classifyFailure(error, where)
    }
  }

  async #pace(signal: AbortSignal): Promise<void> {
    const limiter = this.#limiter
    if (limiter === undefined) return
    await this.#turns.run(async () => {
      await limiter.wait(signal)
      limiter.spend(1)
    })
  }
}

/** Next to the address, which has the subject encoded, the subject as it is. */
function describe(method: string, address: string, subject: string | undefined): string {
  return `${method} ${address}${subject === undefined ? '' : ` (subject ${JSON.stringify(subject)})`}`
}

/** Where a redirect within the same server leads; one to elsewhere is not followed, so no login goes there. */
function sameOrigin({ status, headers }: RegistryAnswer, origin: string, path: string): string | undefined {
  if (status < 300 || status >= 400 || headers.location === undefined) return undefined
  if (!URL.canParse(headers.location, `${origin}${path}`)) return undefined
  const target = new URL(headers.location, `${origin}${path}`)
  return target.origin === origin ? `${target.pathname}${target.search}` : undefined
}

/** The JSON of an answer; one that is not a success, or no JSON, is thrown. */
export function parseAnswer(answer: RegistryAnswer, where: string, nowMs: number): unknown {
  const { status, body } = answer
  if (status < 200 || status >= 300) throw classifyAnswer(answer, where, nowMs)
  const facts = { status, errorCode: null }
  if (isHtml(answer)) {
    throw new RegistryError('REGISTRY_PROTOCOL', `${where} answered with ${describeHtml(body)}`, facts)
  }
  if (body.trim() === '') return noBody
  return parseBody(body, where, status)
}
