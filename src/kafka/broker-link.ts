import { KafkaBackupError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { type ApiRange, apiVersions } from './api/api-versions.ts'
import type { Api } from './wire/api.ts'
import { Connection } from './wire/connection.ts'
import type { Endpoint } from './wire/endpoint.ts'
import { Reader } from './wire/reader.ts'
import type { ResponseBuffer } from './wire/response-buffer.ts'
import { Writer } from './wire/writer.ts'

export interface LinkOptions {
  clientId: string
  softwareVersion: string
  timeoutMs: number
  clock: Clock
  /** Called for every request that leaves, with its name: the bench counts them. */
  onRequest?: (name: string) => void
}

/** A connection on which typed requests can be made, after the broker has said which versions it speaks. */
export class BrokerLink {
  readonly #connection: Connection
  readonly #options: LinkOptions
  #ranges = new Map<number, ApiRange>()
  #correlationId = 0

  private constructor(connection: Connection, options: LinkOptions) {
    this.#connection = connection
    this.#options = options
  }

  static async open(endpoint: Endpoint, options: LinkOptions, signal: AbortSignal): Promise<BrokerLink> {
    const connection = await Connection.open({ endpoint, timeoutMs: options.timeoutMs, clock: options.clock }, signal)
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

  /** `target` is where a large answer lands; what is decoded then points into it. */
  async call<Request, Response>(
    api: Api<Request, Response>,
    request: Request,
    signal: AbortSignal,
    { target, waitMs = 0 }: { target?: ResponseBuffer; waitMs?: number } = {},
  ): Promise<Response> {
    this.assertSpeaks(api)
    return api.decode(await this.#exchange(api, request, true, signal, target, waitMs))
  }

  close(): void {
    this.#connection.close()
  }

  async #greet(signal: AbortSignal): Promise<void> {
    const client = { name: 'kafka-backup', version: this.#options.softwareVersion }
    const answer = apiVersions.decode(await this.#exchange(apiVersions, client, false, signal))
    if (answer.errorCode !== 0) {
      throw new KafkaBackupError('KAFKA_UNSUPPORTED', `${this.name} runs a Kafka too old for ApiVersions v3`)
    }
    this.#ranges = new Map(answer.ranges.map(range => [range.key, range]))
  }

  /** Request header v2: api_key api_version correlation_id client_id TAGS. Response header v1: correlation_id TAGS. */
  async #exchange<Request>(
    api: Api<Request, unknown>,
    request: Request,
    responseHasTags: boolean,
    signal: AbortSignal,
    target?: ResponseBuffer,
    waitMs = 0,
  ): Promise<Reader> {
    const correlationId = this.#correlationId++
    const writer = new Writer().int16(api.key).int16(api.version).int32(correlationId)
    api.encode(writer.legacyString(this.#options.clientId).noTags(), request)
    this.#options.onRequest?.(api.name)
    const reader = new Reader(await this.#connection.send(writer.finish(), signal, target, waitMs))
    const answered = reader.int32()
    if (answered !== correlationId) {
      throw new KafkaBackupError('KAFKA_PROTOCOL', `${this.name} answered request ${answered}, not ${correlationId}`)
    }
    if (responseHasTags) reader.tags()
    return reader
  }

  /** Throws KAFKA_UNSUPPORTED, naming what the broker does speak, unless it speaks our version. */
  assertSpeaks(api: Api<never, unknown>): void {
    const range = this.#ranges.get(api.key)
    if (range && range.min <= api.version && api.version <= range.max) return
    const spoken = range ? `versions ${range.min} to ${range.max}` : 'no version of it'
    throw new KafkaBackupError(
      'KAFKA_UNSUPPORTED',
      `${this.name} does not speak ${api.name} v${api.version}; it speaks ${spoken}`,
    )
  }
}
