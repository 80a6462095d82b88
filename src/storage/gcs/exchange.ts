import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { type Clock, systemClock } from '../../lib/clock.ts'
import type { StoreAgents } from '../bucket/agents.ts'

export interface HttpRequest {
  method: string
  /** With the query, encoded. */
  path: string
  headers: Record<string, string>
  body?: readonly Uint8Array[]
}

export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** How the endpoint is reached. */
export interface Line {
  /** Scheme, host and port. */
  origin: string
  agents: StoreAgents
  connectTimeoutMs: number
  /** How long the connection may be silent. */
  idleTimeoutMs: number
  clock?: Clock
}

/** Sends one request and reads the whole answer; redirects are answers like others. Rejects with Node's own errors. */
export function exchange(sent: HttpRequest, line: Line, signal: AbortSignal): Promise<HttpAnswer> {
  const { origin, agents, connectTimeoutMs, idleTimeoutMs, clock = systemClock } = line
  const isTls = /^https:/i.test(origin)
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const options = { method: sent.method, path: sent.path, headers: withLength(sent), timeout: idleTimeoutMs }
    const request = isTls
      ? requestHttps(origin, { ...options, agent: agents.httpsAgent })
      : requestHttp(origin, { ...options, agent: agents.httpAgent })
    let cancelConnect = () => {}
    const settle = (finish: () => void) => {
      cancelConnect()
      signal.removeEventListener('abort', onAbort)
      finish()
    }
    const fail = (error: unknown) =>
      settle(() => {
        request.destroy()
        reject(error)
      })
    const onAbort = () => fail(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    request.on('socket', socket => {
      // One that is kept, or that comes out of the tunnel of a proxy, is connected.
      if (!socket.connecting) return
      cancelConnect = clock.after(connectTimeoutMs, () => fail(timedOut('no connection', connectTimeoutMs)))
      socket.once(isTls ? 'secureConnect' : 'connect', cancelConnect)
    })
    request.on('timeout', () => fail(timedOut('silence', idleTimeoutMs)))
    request.on('error', fail)
    request.on('response', response => {
      readBody(response).then(body => {
        settle(() => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
      }, fail)
    })
    for (const piece of sent.body ?? []) request.write(piece)
    request.end()
  })
}

function withLength({ method, headers, body = [] }: HttpRequest): Record<string, string> {
  const bytes = body.reduce((sum, piece) => sum + piece.length, 0)
  return method === 'GET' ? headers : { ...headers, 'content-length': String(bytes) }
}

/** A body whose length was announced goes straight to its place. One that ends early fails. */
async function readBody(response: IncomingMessage): Promise<Buffer> {
  const announced = response.headers['content-length']
  if (announced === undefined) return collect(response)
  const bytes = Buffer.allocUnsafeSlow(Number(announced))
  let filled = 0
  for await (const chunk of response as AsyncIterable<Buffer>) filled += chunk.copy(bytes, filled)
  if (filled < bytes.length) throw Object.assign(new Error('the answer ended early'), { code: 'ECONNRESET' })
  return bytes
}

async function collect(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function timedOut(what: string, ms: number): Error {
  return Object.assign(new Error(`${what} for ${ms} ms`), { code: 'ETIMEDOUT' })
}
