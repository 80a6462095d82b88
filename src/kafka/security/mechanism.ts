import type { Endpoint } from '../wire/endpoint.ts'

/** One way to log in. */
export interface SaslMechanism {
  /** As brokers list it. */
  readonly name: string
  /** Who logs in, for messages. */
  readonly identity: string
  /**
   * A new conversation: yields what is sent and is given what the broker answers to it. It returns when the login is
   * complete on this side, and throws where the broker does not prove who it is.
   */
  converse(endpoint: Endpoint, signal: AbortSignal): AsyncGenerator<Buffer, void, Buffer>
}
