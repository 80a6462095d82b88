import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A request on its way to a broker. */
export interface PassingRequest {
  /** From 1, over all connections. */
  nth: number
  /** The number of its kind, as `API` names them: 0 is Produce. */
  apiKey: number
}

/**
 *   pass       goes through, and its answer too
 *   deafen     goes through; its answer is not heard, since the connection breaks when it comes
 *   hold       stays in the proxy, with all that comes behind it on its connection, until `release`
 */
export type RequestFate = 'pass' | 'deafen' | 'hold'

export interface KafkaProxy extends AsyncDisposable {
  port: number
  /** Who decides; may be changed at any time. What is decided while a promise is awaited waits behind it. */
  decide: (request: PassingRequest) => RequestFate | Promise<RequestFate>
  /** Requests so far. */
  requests: number
  /** Whether something is held. */
  readonly isHolding: boolean
  /**
   * Lets all that was held go to the broker, whether its sender still lives or not, and over new connections where the
   * broker has closed theirs. Resolves when the broker has dealt with it.
   */
  release(): Promise<void>
  close(): Promise<void>
}

/** A network to one broker without TLS that knows where requests begin and end. */
export async function openKafkaProxy({ targetPort, port }: { targetPort: number; port: number }): Promise<KafkaProxy> {
  const lines = new Set<Line>()
  const proxy: KafkaProxy = {
    port,
    decide: () => 'pass',
    requests: 0,
    get isHolding() {
      return [...lines].some(line => line.held.length > 0)
    },
    release: async () => {
      await Promise.all([...lines].map(line => line.release()))
    },
    close: async () => {
      for (const line of lines) line.end()
      server.close()
      await once(server, 'close')
    },
    [Symbol.asyncDispose]: () => proxy.close(),
  }
  const server = createServer({ noDelay: true }, client => {
    const line = new Line(client, targetPort, proxy)
    lines.add(line)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  proxy.port = (server.address() as AddressInfo).port
  return proxy
}

/** One connection of a client and the one behind it. */
class Line {
  readonly held: Buffer[] = []
  readonly #client: Socket
  readonly #targetPort: number
  readonly #proxy: KafkaProxy
  #upstream: Socket
  #isHolding = false
  #isDeaf = false
  #deciding: Promise<void> = Promise.resolve()

  constructor(client: Socket, targetPort: number, proxy: KafkaProxy) {
    this.#client = client
    this.#targetPort = targetPort
    this.#proxy = proxy
    this.#upstream = connect({ port: targetPort, host: '127.0.0.1', noDelay: true })
    this.#upstream.on('data', chunk => {
      // No reset: one that meets a client on its way out leaves a handle that keeps this process from ending.
      if (this.#isDeaf) client.destroy()
      else if (!client.destroyed) client.write(chunk)
    })
    // What the client has sent before it went goes on; what is held goes on later.
    for (const event of ['error', 'close']) {
      client.on(event, () => void this.#deciding.then(() => this.held.length === 0 && this.#upstream.end()))
      this.#upstream.on(event, () => void (this.held.length === 0 && client.destroy()))
    }
    onFrames(client, frame => {
      this.#deciding = this.#deciding.then(() => this.#take(frame))
    })
  }

  async release(): Promise<void> {
    const frames = this.held.splice(0)
    if (frames.length === 0) return
    const isAlive = !this.#upstream.destroyed && this.#upstream.writable
    const socket = isAlive ? this.#upstream : connect({ port: this.#targetPort, host: '127.0.0.1', noDelay: true })
    socket.on('error', () => undefined)
    const heard = Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => undefined)
    for (const frame of frames) socket.write(frame)
    await heard
    this.#isHolding = false
    if (this.#client.destroyed) socket.end()
  }

  end(): void {
    this.held.length = 0
    this.#client.destroy()
    this.#upstream.destroy()
  }

  async #take(frame: Buffer): Promise<void> {
    const request = { nth: ++this.#proxy.requests, apiKey: frame.readInt16BE(4) }
    const fate = this.#isHolding ? 'hold' : await this.#proxy.decide(request)
    if (fate === 'hold') {
      this.#isHolding = true
      this.held.push(frame)
      return
    }
    if (fate === 'deafen') this.#isDeaf = true
    this.#upstream.write(frame)
  }
}

/** Whole requests, with the four bytes before them that say how long each is. */
function onFrames(socket: Socket, handle: (frame: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
      const end = 4 + rest.readInt32BE(0)
      handle(rest.subarray(0, end))
      rest = rest.subarray(end)
    }
  })
}
