import { createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'

export interface HttpProxy {
  url: string
  /** `CONNECT host:port` and `GET http://host:port/…`, as they came. */
  readonly requests: readonly string[]
  close(): Promise<void>
}

/** A forward proxy that asks for a login, given as it stands in an address: tunnels for https, requests with a whole address for http. */
export async function startHttpProxy(user: string, password: string): Promise<HttpProxy> {
  const requests: string[] = []
  const tunnels = new Set<Duplex>()
  const login = `Basic ${Buffer.from(`${decodeURIComponent(user)}:${decodeURIComponent(password)}`).toString('base64')}`
  const isWelcome = (incoming: IncomingMessage) => incoming.headers['proxy-authorization'] === login
  const server = createServer((incoming, answer) => {
    requests.push(`${incoming.method} ${incoming.url}`)
    if (!isWelcome(incoming)) {
      answer.writeHead(407, { 'proxy-authenticate': 'Basic realm="x"' }).end()
      return
    }
    const { hostname, port, pathname, search } = new URL(incoming.url ?? '')
    const { 'proxy-authorization': _, ...headers } = incoming.headers
    const options = { host: hostname, port, method: incoming.method, path: pathname + search, headers }
    const onward = request(options, reply => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(answer)
    })
    incoming.pipe(onward)
  })
  server.on('connect', (incoming, socket, head) => {
    requests.push(`CONNECT ${incoming.url}`)
    if (!isWelcome(incoming)) return socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    const { hostname, port } = new URL(`http://${incoming.url}`)
    tunnels.add(socket)
    const onward = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      onward.write(head)
      onward.pipe(socket).pipe(onward)
    })
    onward.on('error', () => socket.destroy())
    socket.on('error', () => onward.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://${user}:${password}@127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
        for (const tunnel of tunnels) tunnel.destroy()
      }),
  }
}
