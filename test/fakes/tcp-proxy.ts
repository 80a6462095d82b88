import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** What the network does; may be changed at any time, and holds for bytes that arrive from then on. */
export interface NetworkRules {
  /** Added in each direction. */
  latencyMs: number
  /** Of answers, for each connection. */
  bytesPerSecond: number
  /** Connections are accepted and requests taken, but no answer comes through. */
  silent: boolean
  /** A connection is reset after so many bytes of answers. */
  dropAfterBytes: number
}

export interface TcpProxy extends AsyncDisposable {
  port: number
  rules: NetworkRules
  /** Connections that were made so far. */
  connections: number
  close(): Promise<void>
}

const clear: NetworkRules = {
  latencyMs: 0,
  bytesPerSecond: Number.POSITIVE_INFINITY,
  silent: false,
  dropAfterBytes: Number.POSITIVE_INFINITY,
}

/** A network between a client and a server of this machine, as bad as one likes. */
export async function openTcpProxy(
  { targetPort, port = 0 }: { targetPort: number; port?: number },
  rules: Partial<NetworkRules> = {},
): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, client => {
    proxy.connections++
    const upstream = connect({ port: targetPort, host: '127.0.0.1', noDelay: true })
    pipePair(client, upstream, proxy)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    }
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }
  const proxy: TcpProxy = {
    port: (server.address() as AddressInfo).port,
    rules: { ...clear, ...rules },
    connections: 0,
    close,
    [Symbol.asyncDispose]: close,
  }
  return proxy
}

function pipePair(client: Socket, upstream: Socket, proxy: TcpProxy): void {
  const end = () => {
    client.destroy()
    upstream.destroy()
  }
  for (const socket of [client, upstream]) {
    socket.on('error', end)
    socket.on('close', end)
  }
  const requests = createLine()
  const answers = createLine()
  let answered = 0
  let freeAt = 0
  client.on('data', chunk => requests(performance.now() + proxy.rules.latencyMs, () => upstream.write(chunk)))
  upstream.on('data', chunk => {
    const { silent, latencyMs, bytesPerSecond, dropAfterBytes } = proxy.rules
    if (silent) return
    answered += chunk.length
    if (answered > dropAfterBytes) return void client.resetAndDestroy()
    const now = performance.now()
    freeAt = Math.max(now, freeAt) + (1000 * chunk.length) / bytesPerSecond
    // The sender is held back too, so that no more than a little is on its way.
    if (freeAt - now > 50) {
      upstream.pause()
      setTimeout(() => upstream.resume(), freeAt - now - 50)
    }
    answers(freeAt + latencyMs, () => client.write(chunk))
  })
}

/** Does things at their times, and always in the order in which they were given. */
function createLine(): (at: number, work: () => void) => void {
  const waiting: { at: number; work: () => void }[] = []
  const next = () => {
    for (let first = waiting[0]; first && first.at <= performance.now(); first = waiting[0]) {
      waiting.shift()
      first.work()
    }
    const [first] = waiting
    if (first) setTimeout(next, Math.max(1, first.at - performance.now()))
  }
  return (at, work) => {
    waiting.push({ at, work })
    if (waiting.length === 1) next()
  }
}
