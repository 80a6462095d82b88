import { hasCode, KafkaBackupError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { type RetryPolicy, retry } from '../lib/retry.ts'
import {
  type MetadataRequest,
  type MetadataResponse,
  type MetadataTopic,
  metadata,
  NO_TOPIC_ID,
} from './api/metadata.ts'
import { describeConfigs, SOURCE_TOPIC } from './api/topic-configs.ts'
import { brokerError } from './broker-errors.ts'
import { BrokerLink } from './broker-link.ts'
import { idOfName } from './named-topic-id.ts'
import { openSecurity, type Security } from './security/security.ts'
import type { SecurityOptions } from './security/security-options.ts'
import type { Api } from './wire/api.ts'
import { type Endpoint, parseEndpoint } from './wire/endpoint.ts'

export interface ClusterOptions {
  /** `host:port` each; any of them will do. */
  bootstrapServers: readonly string[]
  clientId: string
  /** Plain text where it is not given. */
  security?: SecurityOptions
  softwareVersion: string
  requestTimeoutMs: number
  clock: Clock
  onRequest?: (name: string, broker: string) => void
  onRetry?: (error: unknown, delayMs: number) => void
}

/** Longer than a KRaft broker's session (9 s) and an election after it. */
const SETTLING: RetryPolicy = { attempts: 10, baseDelayMs: 200, maxDelayMs: 5000 }
const FIRST_CONTACT: RetryPolicy = { attempts: 3, baseDelayMs: 200, maxDelayMs: 1000 }
const TOPICS_PER_REQUEST = 500

/** The cluster as its answers show it. One connection a broker for small requests; data has separate connections. */
export class Cluster {
  readonly #options: ClusterOptions
  readonly #security: Security
  readonly #links = new Map<string, Promise<BrokerLink>>()
  #brokers = new Map<number, Endpoint>()

  private constructor(options: ClusterOptions) {
    this.#options = options
    this.#security = openSecurity(options.security, { clock: options.clock, timeoutMs: options.requestTimeoutMs })
  }

  /** Fails soon when no bootstrap server answers: at the start that is most likely a wrong address. */
  static async open(options: ClusterOptions, signal: AbortSignal): Promise<Cluster> {
    const cluster = new Cluster(options)
    try {
      await cluster.#retrying(FIRST_CONTACT, () => cluster.#askAny({ topics: [] }, signal), signal)
    } catch (error) {
      cluster.close()
      throw error
    }
    return cluster
  }

  get clock(): Clock {
    return this.#options.clock
  }

  metadata(request: MetadataRequest, signal: AbortSignal): Promise<MetadataResponse> {
    return this.settling(() => this.#askAny(request, signal), signal)
  }

  /** The settings of the topics themselves, by topic. */
  async topicConfigs(topics: readonly string[], signal: AbortSignal): Promise<Map<string, Record<string, string>>> {
    const configs = new Map<string, Record<string, string>>()
    for (let start = 0; start < topics.length; start += TOPICS_PER_REQUEST) {
      const request = { topics: topics.slice(start, start + TOPICS_PER_REQUEST) }
      const described = await this.settling(async () => {
        const answer = await this.#any(link => link.call(describeConfigs, request, signal), signal)
        const failed = answer.find(one => one.errorCode !== 0)
        if (failed)
          throw brokerError(failed.errorCode, `reading the configuration of topic ${failed.topic}`, null, {
            topic: failed.topic,
          })
        return answer
      }, signal)
      for (const one of described) {
        const own = one.configs.filter(config => config.source === SOURCE_TOPIC && config.value !== null)
        configs.set(one.topic, Object.fromEntries(own.map(config => [config.name, config.value ?? ''])))
      }
    }
    return configs
  }

  /** Asks whichever broker answers, once around; errors within the answer are the caller's to read. */
  callAny<Request, Response>(api: Api<Request, Response>, request: Request, signal: AbortSignal): Promise<Response> {
    return this.#any(link => link.call(api, request, signal), signal)
  }

  /** The shared connection for small requests to this broker. */
  link(brokerId: number, signal: AbortSignal): Promise<BrokerLink> {
    return this.#linkTo(this.#endpointOf(brokerId), signal)
  }

  /** A connection of the caller's own, which it closes. */
  openLink(brokerId: number, signal: AbortSignal): Promise<BrokerLink> {
    return BrokerLink.open(this.#endpointOf(brokerId), this.#linkOptions, signal)
  }

  /** Calls until the cluster has settled: elections, restarts and lost connections pass. As often as in `patienceMs`, where it is given. */
  settling<T>(call: () => Promise<T>, signal: AbortSignal, patienceMs?: number): Promise<T> {
    if (patienceMs === undefined) return this.#retrying(SETTLING, call, signal)
    const endAt = this.clock.monotonic() + patienceMs
    return this.#retrying({ ...SETTLING, attempts: Number.POSITIVE_INFINITY }, call, signal, endAt)
  }

  close(): void {
    for (const link of this.#links.values()) {
      link.then(
        open => open.close(),
        () => undefined,
      )
    }
    this.#links.clear()
  }

  #retrying<T>(
    policy: RetryPolicy,
    call: () => Promise<T>,
    signal: AbortSignal,
    endAt = Number.POSITIVE_INFINITY,
  ): Promise<T> {
    const { clock, onRetry } = this.#options
    const isRetryable = (error: unknown) =>
      error instanceof KafkaBackupError && error.retryable && clock.monotonic() < endAt
    return retry(
      call,
      policy,
      { isRetryable, clock, onRetry: (error, _n, delayMs) => onRetry?.(error, delayMs) },
      signal,
    )
  }

  async #askAny(request: MetadataRequest, signal: AbortSignal): Promise<MetadataResponse> {
    const answer = await this.#any(link => link.call(metadata, request, signal), signal)
    this.#brokers = new Map(answer.brokers.map(({ id, host, port }) => [id, { host, port }]))
    return { ...answer, topics: answer.topics.map(identify) }
  }

  /** Asks the brokers known so far, then the bootstrap servers, until one answers. */
  async #any<T>(ask: (link: BrokerLink) => Promise<T>, signal: AbortSignal): Promise<T> {
    const endpoints = [...this.#brokers.values(), ...this.#options.bootstrapServers.map(parseEndpoint)]
    let failure: unknown
    for (const endpoint of endpoints) {
      try {
        return await ask(await this.#linkTo(endpoint, signal))
      } catch (error) {
        if (!hasCode(error, 'KAFKA_UNREACHABLE', 'KAFKA_DISCONNECTED', 'KAFKA_TIMEOUT')) throw error
        failure ??= error
      }
    }
    throw failure
  }

  async #linkTo(endpoint: Endpoint, signal: AbortSignal): Promise<BrokerLink> {
    const name = `${endpoint.host}:${endpoint.port}`
    const known = this.#links.get(name)
    const existing = await known?.catch(() => undefined)
    if (existing?.isOpen) return existing
    // Another call has opened it meanwhile: a second connection would never be closed.
    if (this.#links.get(name) !== known) return this.#linkTo(endpoint, signal)
    const opening = BrokerLink.open(endpoint, this.#linkOptions, signal)
    this.#links.set(name, opening)
    return opening
  }

  get #linkOptions() {
    const { clientId, softwareVersion, requestTimeoutMs, clock, onRequest } = this.#options
    const common = { clientId, softwareVersion, timeoutMs: requestTimeoutMs, clock, security: this.#security }
    return { ...common, ...(onRequest && { onRequest }) }
  }

  #endpointOf(brokerId: number): Endpoint {
    const endpoint = this.#brokers.get(brokerId)
    if (endpoint) return endpoint
    throw new KafkaBackupError('KAFKA_NOT_READY', `broker ${brokerId} is not among the brokers of the cluster`)
  }
}

/** Every topic that is there has an ID, so that no two are taken for one. */
function identify(topic: MetadataTopic): MetadataTopic {
  const isWithout = topic.errorCode === 0 && topic.id === NO_TOPIC_ID
  return isWithout ? { ...topic, id: idOfName(topic.name) } : topic
}

/**
 * Asks the broker that takes changes of topics: the controller, or with KRaft any broker, which passes them on.
 * `waitMs` is how long it may take over them, on top of the usual timeout.
 */
export async function callController<Request, Response>(
  cluster: Cluster,
  api: Api<Request, Response>,
  request: Request,
  waitMs: number,
  signal: AbortSignal,
): Promise<Response> {
  const { controllerId } = await cluster.metadata({ topics: [] }, signal)
  const link = await cluster.link(controllerId, signal)
  return link.call(api, request, signal, { waitMs })
}
