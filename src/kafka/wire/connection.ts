import type { Socket } from 'node:net'
import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { MAX_CONTROL_BYTES, MAX_FETCH_BYTES, ResponseBuffer } from './buffer-pool.ts'
import { type ConnectionPhase, hungUp } from './connection-error.ts'
import type { Endpoint } from './endpoint.ts'
import { classifyFailure, openSocket, readyEvent, type TlsSettings } from './socket.ts'

interface ConnectionOptions {
  endpoint: Endpoint
  /** Undefined for plain text. */
  tls?: TlsSettings | undefined
  timeoutMs: number
  clock: Clock
}

interface Pending {
  target: ResponseBuffer
  maxBytes: number
  filled: number
  /** Bytes of the whole frame, or 4 until its length has arrived. */
  needed: number
  /** How much had arrived when the deadline was last put off. */
  filledBefore: number
  resolve(frame: Buffer): void
  reject(error: Error): void
}

/** Of the first answer, before the peer has shown that it is a broker. */
const MAX_FIRST_BYTES = 1 << 20
/** How a TLS listener answers plain text: record type 21 (alert), version 3. */
const TLS_ALERT = 0x1503
const SCRATCH_BYTES = 64 * 1024
/** Of an answer within the time for it; a line that brings less is as good as dead. */
const LEAST_PROGRESS_BYTES = 64 * 1024
const CONTROL_RESPONSE_BYTES = 16 * 1024

/**
 * One connection, one request at a time: frames of INT32 length and content in both directions.
 *
 * The socket reads straight into the answer's memory. Only its first bytes go through a scratch buffer, because the
 * socket asks for its next buffer before the next request is known. With one request in flight an answer is never
 * followed by bytes of another.
 */
export class Connection {
  readonly endpoint: Endpoint
  readonly #socket: Socket
  readonly #scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
  /** Of the request under way: once it is answered, it was sent. */
  readonly #length = Buffer.allocUnsafeSlow(4)
  readonly #options: ConnectionOptions
  /** The signal that ends the connection when it is aborted during a request. */
  #watched: AbortSignal | undefined
  #isWaiting = false
  #pending: Pending | undefined
  #failure: KafkaBackupError | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #phase: ConnectionPhase = 'opening'

  private constructor(options: ConnectionOptions) {
    this.endpoint = options.endpoint
    this.#options = options
    const { endpoint, tls } = options
    this.#socket = openSocket(endpoint, tls, {
      buffer: () => this.#nextReadBuffer(),
      callback: (length, buffer) => this.#onRead(length, buffer as Buffer),
    })
    this.#socket.on('error', error => this.#fail(classifyFailure(error, endpoint, tls, this.#phase)))
    this.#socket.on('close', () => this.#fail(hungUp(endpoint, tls, this.#phase)))
  }

  static async open(options: ConnectionOptions, signal: AbortSignal): Promise<Connection> {
    signal.throwIfAborted()
    const connection = new Connection(options)
    await connection.#withDeadline(
      options.timeoutMs,
      () =>
        new Promise<void>((resolve, reject) => {
          connection.#socket.once(readyEvent(options.tls), resolve)
          connection.#socket.once('close', () => reject(connection.#failure))
        }),
      'accept a connection',
      signal,
    )
    connection.#phase = 'unanswered'
    return connection
  }

  get isOpen(): boolean {
    return this.#failure === undefined
  }

  /**
   * Sends a frame and resolves with the answer's content; it stays valid until the target is used again. The content may
   * come in pieces, which are sent from where they lie; none of them is looked at any more once the call has ended.
   */
  send(content: Buffer | Buffer[], signal: AbortSignal, target?: ResponseBuffer, waitMs = 0): Promise<Buffer> {
    const pieces = Array.isArray(content) ? content : [content]
    const run = this.#queue.then(() => this.#exchange(pieces, signal, target, waitMs))
    this.#queue = run.catch(() => undefined)
    return run
  }

  close(): void {
    this.#fail(new KafkaBackupError('KAFKA_DISCONNECTED', `the connection to ${this.#name} is closed`))
  }

  get #name(): string {
    return `${this.endpoint.host}:${this.endpoint.port}`
  }

  #exchange(
    pieces: readonly Buffer[],
    signal: AbortSignal,
    target: ResponseBuffer | undefined,
    waitMs: number,
  ): Promise<Buffer> {
    return this.#withDeadline(
      this.#options.timeoutMs + waitMs,
      () =>
        new Promise((resolve, reject) => {
          if (this.#failure) return reject(this.#failure)
          const into = target ?? new ResponseBuffer(CONTROL_RESPONSE_BYTES, MAX_CONTROL_BYTES)
          into.reset()
          const maxBytes = this.#phase === 'answered' ? into.maxBytes : MAX_FIRST_BYTES
          this.#pending = { target: into, maxBytes, filled: 0, needed: 4, filledBefore: 0, resolve, reject }
          this.#length.writeInt32BE(pieces.reduce((sum, piece) => sum + piece.length, 0))
          this.#socket.cork()
          this.#socket.write(this.#length)
          for (const piece of pieces) this.#socket.write(piece)
          this.#socket.uncork()
        }),
      'answer',
      signal,
    )
  }

  async #withDeadline<T>(ms: number, call: () => Promise<T>, verb: string, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted()
    this.#watch(signal)
    const ring = () => {
      if (this.#movedOn()) cancel = this.#options.clock.after(ms, ring)
      else this.#fail(timedOut(`${this.#name} did not ${verb} within ${ms} ms`, this.#phase))
    }
    let cancel = this.#options.clock.after(ms, ring)
    this.#isWaiting = true
    try {
      return await call()
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      cancel()
      this.#isWaiting = false
    }
  }

  /** The listener stays for the next request with the same signal: adding and removing one costs more than the rest of a small request. */
  #watch(signal: AbortSignal): void {
    if (this.#watched === signal) return
    this.#unwatch()
    this.#watched = signal
    signal.addEventListener('abort', this.#onAbort)
  }

  #unwatch(): void {
    this.#watched?.removeEventListener('abort', this.#onAbort)
    this.#watched = undefined
  }

  readonly #onAbort = () => {
    if (this.#watched && this.#isWaiting) this.#fail(abortError(this.#watched))
  }

  /** A response that arrives slowly is not silence, as long as bytes keep arriving. */
  #movedOn(): boolean {
    const pending = this.#pending
    if (!pending || pending.filled - pending.filledBefore < LEAST_PROGRESS_BYTES) return false
    pending.filledBefore = pending.filled
    return true
  }

  #nextReadBuffer(): Buffer {
    const pending = this.#pending
    if (!pending || pending.filled < 4) return this.#scratch
    return pending.target.bytes.subarray(pending.filled, pending.needed)
  }

  #onRead(length: number, buffer: Buffer): boolean {
    const pending = this.#pending
    if (!pending || pending.filled + length > MAX_FETCH_BYTES)
      return this.#refuse('it sent bytes that no request asked for')
    if (buffer.buffer === this.#scratch.buffer) {
      // At least the length prefix, and at most one scratch buffer of the answer.
      if (pending.filled + length > pending.target.bytes.length) {
        pending.target.reserve(pending.filled + length, pending.filled)
      }
      buffer.copy(pending.target.bytes, pending.filled, 0, length)
    }
    pending.filled += length
    if (pending.needed === 4 && pending.filled >= 4) {
      const content = pending.target.bytes.readInt32BE(0)
      if (!this.#options.tls && content >>> 16 === TLS_ALERT) return this.#expectsTls()
      if (content < 4 || content > pending.maxBytes) return this.#refuse('its answer is not a Kafka frame')
      pending.needed = 4 + content
      pending.target.reserve(pending.needed, pending.filled)
    }
    if (pending.needed > 4 && pending.filled > pending.needed) return this.#refuse('it sent more than its answer')
    if (pending.needed > 4 && pending.filled === pending.needed) {
      this.#pending = undefined
      this.#phase = 'answered'
      pending.resolve(pending.target.bytes.subarray(4, pending.needed))
    }
    return true
  }

  #refuse(why: string): boolean {
    this.#fail(new KafkaBackupError('KAFKA_PROTOCOL', `${this.#name} does not speak Kafka's protocol: ${why}`))
    return false
  }

  #expectsTls(): boolean {
    const message = `the listener at ${this.#name} expects TLS, and the job connects in plain text`
    const help = 'Set `security.protocol` to SSL, or to SASL_SSL if the listener requires a login.'
    this.#fail(new KafkaBackupError('KAFKA_TLS', message, { help }))
    return false
  }

  #fail(error: KafkaBackupError): void {
    if (this.#failure) return
    this.#failure = error
    this.#unwatch()
    this.#socket.destroy()
    this.#pending?.reject(error)
    this.#pending = undefined
  }
}

/** A server that never answered on this connection may not be a broker at all. */
function timedOut(message: string, phase: ConnectionPhase): KafkaBackupError {
  const help = 'Check that the address is that of a Kafka listener; if it is, see the log of the broker.'
  return new KafkaBackupError('KAFKA_TIMEOUT', message, phase === 'answered' ? {} : { help })
}

function abortError(signal: AbortSignal): KafkaBackupError {
  return new KafkaBackupError('KAFKA_DISCONNECTED', 'the request was abandoned', { cause: signal.reason })
}
