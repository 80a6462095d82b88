import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { renewAfterMs } from '../lib/renewal.ts'
import { type ApiRange, apiVersions, UNSUPPORTED_VERSION } from './api/api-versions.ts'
import { brokerError } from './broker-errors.ts'
import { askForMechanisms, authenticate, loginMissing } from './security/authenticate.ts'
import type { Security } from './security/security.ts'
import type { Api, ApiVersions } from './wire/api.ts'
import type { ResponseBuffer } from './wire/buffer-pool.ts'
import { Connection } from './wire/connection.ts'
import type { Endpoint } from './wire/endpoint.ts'
import { Reader } from './wire/reader.ts'
import { Writer } from './wire/writer.ts'

interface LinkOptions {
  clientId: string
  softwareVersion: string
  timeoutMs: number
  clock: Clock
  security: Security
  /** Called for every request that leaves, with its name: the bench counts them. */
  onRequest?: (name: string, broker: string) => void
}

interface Exchange {
  target?: ResponseBuffer | undefined
  /** How long the broker may wait before it answers, on top of the timeout. */
  waitMs?: number
  /** Where a newer version of the request would not do. */
  maxVersion?: number | undefined
}

/** A login is renewed when this part of its life has passed. */
const RENEW_AT = 0.85

/** Brokers refuse a renewal within a second of the one before. */
const LEAST_RENEWAL_MS = 1000

/**
 * A connection on which typed requests can be made, after the broker has said which versions it speaks and, where the
 * job says so, after a login. A login that ends is renewed between two requests.
 */
export class BrokerLink {
  readonly #connection: Connection
  readonly #options: LinkOptions
  #ranges = new Map<number, ApiRange>()
  #correlationId = 0
  #renewAtMs = Number.POSITIVE_INFINITY
  #renewal: Promise<void> | undefined
  #wasServed = false

  private constructor(connection: Connection, options: LinkOptions) {
    this.#connection = connection
    this.#options = options
  }

  static async open(endpoint: Endpoint, options: LinkOptions, signal: AbortSignal): Promise<BrokerLink> {
    const link = await BrokerLink.#greeted(endpoint, options, signal)
    try {
      await link.#logIn(false, signal)
      return link
    } catch (error) {
      link.close()
      throw error
    }
  }

  static async #greeted(endpoint: Endpoint, options: LinkOptions, signal: AbortSignal): Promise<BrokerLink> {
    const { timeoutMs, clock, security } = options
    const connection = await Connection.open({ endpoint, tls: await security.tls(), timeoutMs, clock }, signal)
    const link = new BrokerLink(connection, options)
    try {
      await link.#greet(signal)
      return link
    } catch (error) {
      connection.close()
      throw error
    }
  }

  get isOpen(): boolean {
    return this.#connection.isOpen
  }

  get name(): string {
    return `${this.#connection.endpoint.host}:${this.#connection.endpoint.port}`
  }

  /** `127.0.0.1:9093 (SASL_SSL, SCRAM-SHA-512 as alice)`, for people. */
  get description(): string {
    return `${this.name} (${this.#options.security.description})`
  }

  /** `target` is where a large answer lands; what is decoded then points into it. */
  async call<Request, Response>(
    api: Api<Request, Response>,
    request: Request,
    signal: AbortSignal,
    exchange: Exchange = {},
  ): Promise<Response> {
    const { maxVersion = api.newest } = exchange
    const version = this.assertSpeaks(maxVersion < api.newest ? { ...api, newest: maxVersion } : api)
    const { oneByOne } = api
    if (!oneByOne || version >= oneByOne.before) return this.#callOnce(api, version, request, signal, exchange)
    const answers: Response[] = []
    for (const one of oneByOne.split(request)) answers.push(await this.#callOnce(api, version, one, signal, exchange))
    return oneByOne.join(answers)
  }

  close(): void {
    this.#connection.close()
  }

  async #callOnce<Request, Response>(
    api: Api<Request, Response>,
    version: number,
    request: Request,
    signal: AbortSignal,
    exchange: Exchange,
  ): Promise<Response> {
    // Nothing is awaited where nothing is due, so that no request slips in between a renewal's messages.
    if (this.#renewal || this.#options.clock.monotonic() >= this.#renewAtMs) await this.#renew(signal)
    try {
      const answer = await this.#exchange(api, version, request, signal, exchange)
      this.#wasServed = true
      return answer
    } catch (error) {
      throw await this.#explain(error, signal)
    }
  }

  /** In the newest version first. A broker that does not know it says so in the oldest one, which every broker knows. */
  async #greet(signal: AbortSignal): Promise<void> {
    const client = { name: 'kafka-backup', version: this.#options.softwareVersion }
    const newest = await this.#exchange(apiVersions, apiVersions.newest, client, signal)
    const isOld = newest.errorCode === UNSUPPORTED_VERSION
    const answer = isOld ? await this.#exchange(apiVersions, apiVersions.oldest, client, signal) : newest
    if (answer.errorCode !== 0) throw brokerError(answer.errorCode, `asking ${this.name} for the versions it speaks`)
    this.#ranges = new Map(answer.ranges.map(range => [range.key, range]))
  }

  async #logIn(isRenewal: boolean, signal: AbortSignal): Promise<void> {
    const { security, clock } = this.#options
    if (security.mechanism === undefined) return
    const startedMs = clock.monotonic()
    const how = { call: this.#caller(signal), isRenewal }
    const lifetimeMs = await authenticate(security.mechanism, this.#connection.endpoint, how, signal)
    const wantedMs = lifetimeMs > 0 ? startedMs + renewAfterMs(lifetimeMs, RENEW_AT) : Number.POSITIVE_INFINITY
    this.#renewAtMs = isRenewal ? Math.max(wantedMs, clock.monotonic() + LEAST_RENEWAL_MS) : wantedMs
  }

  /** One renewal for all requests that wait for it; those sent before it are answered before it. */
  #renew(signal: AbortSignal): Promise<void> {
    this.#renewal ??= this.#logIn(true, signal)
      .catch(error => {
        this.close()
        throw error
      })
      .finally(() => {
        this.#renewal = undefined
      })
    return this.#renewal
  }

  /** A listener that misses a login says nothing and hangs up at the first request: it is asked what it takes. */
  async #explain(error: unknown, signal: AbortSignal): Promise<unknown> {
    const mayMissLogin = !this.#wasServed && this.#options.security.mechanism === undefined
    if (!mayMissLogin || !hasCode(error, 'KAFKA_DISCONNECTED') || signal.aborted) return error
    const again = await BrokerLink.#greeted(this.#connection.endpoint, this.#options, signal).catch(() => undefined)
    const mechanisms = await (again && askForMechanisms(again.#caller(signal)).catch(() => undefined))
    again?.close()
    return mechanisms ? loginMissing(this.name, mechanisms) : error
  }

  #caller(signal: AbortSignal) {
    return <Request, Response>(api: Api<Request, Response>, request: Request): Promise<Response> =>
      this.#exchange(api, this.assertSpeaks(api), request, signal)
  }

  /**
   * Request header v2: api_key api_version correlation_id client_id TAGS. Response header v1: correlation_id TAGS.
   * Headers v1 and v0 of versions before the flexible encoding have no tags, nor has any response header of ApiVersions.
   */
  async #exchange<Request, Response>(
    api: Api<Request, Response>,
    version: number,
    request: Request,
    signal: AbortSignal,
    { target, waitMs = 0 }: Exchange = {},
  ): Promise<Response> {
    const correlationId = this.#correlationId++
    const isFlexible = version >= api.flexibleFrom
    const writer = new Writer({ isFlexible }).int16(api.key).int16(version).int32(correlationId)
    writer.headerString(this.#options.clientId).noTags()
    api.encode(writer, request, version)
    this.#options.onRequest?.(api.name, this.name)
    const reader = new Reader(await this.#connection.send(writer.pieces(), signal, target, waitMs), { isFlexible })
    const answered = reader.int32()
    if (answered !== correlationId) {
      throw new KafkaBackupError('KAFKA_PROTOCOL', `${this.name} answered request ${answered}, not ${correlationId}`)
    }
    if (api.key !== apiVersions.key) reader.tags()
    return api.decode(reader, version, request)
  }

  /** The newest version that both sides have; undefined where they have none in common. */
  versionOf({ key, oldest, newest }: ApiVersions): number | undefined {
    const { min = 0, max = -1 } = this.#ranges.get(key) ?? {}
    const version = Math.min(newest, max)
    return version >= Math.max(oldest, min) ? version : undefined
  }

  speaks(api: ApiVersions): boolean {
    return this.versionOf(api) !== undefined
  }

  /** The version to use. Throws KAFKA_UNSUPPORTED, naming what the broker does speak, where there is none in common. */
  assertSpeaks(api: ApiVersions): number {
    const version = this.versionOf(api)
    if (version !== undefined) return version
    if (isController(this.#ranges)) throw controllerListener(this.name)
    throw unsupported(this.name, api, this.#ranges.get(api.key))
  }
}

function unsupported(name: string, { name: request, oldest, newest }: ApiVersions, range?: ApiRange): KafkaBackupError {
  const ours = oldest === newest ? `v${newest}` : `v${oldest} to v${newest}`
  const theirs = range ? `versions ${range.min} to ${range.max}` : 'no version of it'
  return new KafkaBackupError('KAFKA_UNSUPPORTED', `${name} does not speak ${request} ${ours}; it speaks ${theirs}`)
}

const METADATA = 3
const BROKER_REGISTRATION = 62

/** A controller of KRaft registers brokers, and tells no client about topics. */
function isController(ranges: ReadonlyMap<number, ApiRange>): boolean {
  return ranges.has(BROKER_REGISTRATION) && !ranges.has(METADATA)
}

function controllerListener(name: string): KafkaBackupError {
  return new KafkaBackupError(
    'KAFKA_UNSUPPORTED',
    `${name} is a controller listener of KRaft, which serves no clients`,
    {
      help: 'Give the listener of a broker in `bootstrap_servers`: a port that `controller.listener.names` does not name.',
    },
  )
}
