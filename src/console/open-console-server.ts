import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Server as TlsServer } from 'node:tls'
import { KafkaBackupError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { listenAt, renewCertificate, type TlsFiles } from '../lib/listen.ts'
import { type Answer, securityHeaders } from './answer.ts'
import { ArchiveReader, type ConsoleLocation } from './archive-reader.ts'
import { readAssets } from './assets.ts'
import { answerFailure, busy, notFound, plainRefusal } from './failures.ts'
import { parseTarget } from './page-request.ts'
import { type GateOptions, isLoopbackHost, refuseRequest } from './request-gate.ts'
import { defaultLimits, type Limits, RequestLimits } from './request-limits.ts'
import { answerPage } from './router.ts'

export interface ConsoleOptions {
  locations: readonly ConsoleLocation[]
  host: string
  /** 0 for any free one. */
  port: number
  token?: string | undefined
  tls?: TlsFiles | undefined
  /** Reads them again, for certificates that are renewed. */
  readTls?: (() => Promise<TlsFiles>) | undefined
  allowedHosts: readonly string[]
  clock: Clock
  limits?: Partial<Limits>
  /** Removes secrets from messages. */
  redact?: (text: string) => string
  /** Called with failures that are not the fault of the request. */
  onFailure?: (error: unknown) => void
}

export interface ConsoleServer {
  /** Without a slash at its end. */
  url: string
  close(): Promise<void>
}

/** Serves the console until it is closed. It only reads, and takes no lease. */
export async function openConsoleServer(options: ConsoleOptions): Promise<ConsoleServer> {
  const { host, port, tls } = options
  const { silentMs } = { ...defaultLimits, ...options.limits }
  const console = new Console(options, await readAssets())
  const listener = (request: IncomingMessage, response: ServerResponse) => void console.serve(request, response)
  const secured = tls && createTlsServer({ ...tls, ...tlsOptions, handshakeTimeout: silentMs }, listener)
  const server = secured ?? createServer(listener)
  server.requestTimeout = 10_000
  server.headersTimeout = 10_000
  server.maxConnections = MAX_CONNECTIONS
  server.timeout = silentMs
  const help = 'Choose a free port and an address of this machine.'
  const { address, close } = await listenAt(server, { host, port }, (problem, cause) => {
    return new KafkaBackupError('USAGE', `the console ${problem}`, { cause, help })
  })
  const stopRenewing = secured && renewTls(secured, options)
  return {
    url: `${tls ? 'https' : 'http'}://${address}`,
    close: () => {
      stopRenewing?.()
      return close()
    },
  }
}

function renewTls(server: TlsServer, { tls, readTls, clock, onFailure }: ConsoleOptions): (() => void) | undefined {
  if (!tls || !readTls) return undefined
  const report = (error: unknown) => onFailure?.(error)
  return renewCertificate(server, tlsOptions, { files: tls, read: readTls, clock, onFailure: report })
}

const tlsOptions = { minVersion: 'TLSv1.2' } as const
const MAX_CONNECTIONS = 256

class Console {
  readonly #options: ConsoleOptions
  readonly #gate: GateOptions
  readonly #assets: ReadonlyMap<string, Answer>
  readonly #reader: ArchiveReader
  readonly #limits: RequestLimits

  constructor(options: ConsoleOptions, assets: ReadonlyMap<string, Answer>) {
    const { token, allowedHosts, host, locations, clock, limits, redact } = options
    this.#options = options
    this.#gate = { token, allowedHosts, isLoopback: isLoopbackHost(host) }
    this.#assets = assets
    this.#reader = new ArchiveReader(locations, clock, redact)
    this.#limits = new RequestLimits({ ...defaultLimits, ...limits }, clock)
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A body is not read: no page takes one.
    request.resume()
    const answer = await this.#answer(request, response)
    if (answer && !response.destroyed) this.#send(request, response, answer)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<Answer | undefined> {
    const { method = '', headers, url = '' } = request
    const refusal = refuseRequest(this.#gate, { method, headers })
    if (refusal) return plainRefusal(refusal)
    const target = parseTarget(url)
    if (!target) return plainRefusal({ status: 400, message: 'This is not the address of a page.' })
    const asset = this.#assets.get(target.rawPath)
    if (asset) return asset
    const left = new AbortController()
    response.once('close', () => left.abort(new Error('the client has left')))
    const { clock } = this.#options
    try {
      const answer = await this.#limits.run(left.signal, async signal => {
        const page = await answerPage(this.#reader, { ...target, clock, signal })
        return page ?? notFound(clock.now())
      })
      return answer ?? busy(clock.now())
    } catch (error) {
      if (left.signal.aborted) return undefined
      return this.#failed(error)
    }
  }

  #send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
    const release = this.#limits.hold(Buffer.byteLength(answer.body))
    if (release) response.once('close', release)
    send(request, response, release ? answer : busy(this.#options.clock.now()))
  }

  #failed(error: unknown): Answer {
    const { clock, redact = text => text, onFailure } = this.#options
    const { answer, isOwnFault } = answerFailure(error, { atMs: clock.now(), redact })
    if (isOwnFault) onFailure?.(error)
    return answer
  }
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, contentType, body, headers }: Answer,
): void {
  response.writeHead(status, {
    ...securityHeaders,
    ...headers,
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
