import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Clock } from './clock.ts'
import { copyBody } from './copy-body.ts'
import { nodeHttp, nodeHttps } from './node-http.ts'

export interface HttpRequest {
  /** Scheme, host and port; anything else in it is not sent. */
  origin: string
  /** With the query, encoded, sent unchanged: dots are not resolved. */
  path: string
  method: string
  headers: Record<string, string>
  body?: readonly Uint8Array[]
  agent: Agent
  timeouts: HttpTimeouts
  /** A longer answer is an error. */
  maxBytes: number
}

export interface HttpTimeouts {
  /** Of a new connection, TLS included. */
  connectMs: number
  /** Of the complete exchange. */
  requestMs?: number
  /** How long the connection may be silent. */
  idleMs?: number
}

export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** Sends one request and reads the complete answer. Follows no redirect. Rejects with Node's own errors. */
export function sendHttp(sent: HttpRequest, clock: Clock, signal: AbortSignal): Promise<HttpAnswer> {
  const isTls = /^https:/i.test(sent.origin)
  const open = isTls ? nodeHttps.request : nodeHttp.request
  const { connectMs, requestMs, idleMs } = sent.timeouts
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const request = open(sent.origin, {
      method: sent.method,
      path: sent.path,
      headers: withLength(sent),
      agent: sent.agent,
      ...(idleMs !== undefined && { timeout: idleMs }),
    })
    const timers: (() => void)[] = []
    const settle = (finish: () => void) => {
      for (const cancel of timers) cancel()
      signal.removeEventListener('abort', onAbort)
      finish()
    }
    const fail = (error: unknown) =>
      settle(() => {
        request.destroy()
        reject(error)
      })
    const limit = (ms: number, what: string) => {
      const cancel = clock.after(ms, () => fail(new HttpTimeout(`${what} within ${ms} ms`)))
      timers.push(cancel)
      return cancel
    }
    const onAbort = () => fail(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    if (requestMs !== undefined) limit(requestMs, 'no answer')
    request.on('socket', socket => {
      // A kept socket, or one that comes out of the tunnel of a proxy, is already connected.
      if (socket.connecting) socket.once(isTls ? 'secureConnect' : 'connect', limit(connectMs, 'no connection'))
    })
    request.on('timeout', () => fail(new HttpTimeout(`no data for ${idleMs} ms`)))
    request.on('error', fail)
    onUnanswered(request, fail)
    request.on('response', response => {
      readBody(response, sent.maxBytes).then(body => {
        settle(() => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
      }, fail)
    })
    for (const piece of sent.body ?? []) request.write(piece)
    request.end()
  })
}

/** Calls back where a request ends with neither an error nor a response, as with an answer that switches protocols. */
export function onUnanswered(request: ClientRequest, callback: (error: Error) => void): void {
  let isAnswered = false
  request.once('response', () => {
    isAnswered = true
  })
  request.once('close', () => {
    if (!isAnswered) callback(endedEarly())
  })
}

export class HttpTimeout extends Error {
  readonly code = 'ETIMEDOUT'
}

export class AnswerTooLong extends Error {
  /** The length that was announced, or so many were read. */
  readonly bytes: number

  constructor(maxBytes: number, bytes: number) {
    super(`the answer is longer than ${maxBytes} bytes`)
    this.bytes = bytes
  }
}

function withLength({ method, headers, body = [] }: HttpRequest): Record<string, string> {
  const bytes = body.reduce((sum, piece) => sum + piece.length, 0)
  return method === 'GET' || (method === 'DELETE' && bytes === 0)
    ? headers
    : { ...headers, 'content-length': String(bytes) }
}

/** A body whose length was announced is read into one buffer. An incomplete one fails. */
async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const announced = response.headers['content-length']
  if (announced !== undefined && Number(announced) > maxBytes) throw new AnswerTooLong(maxBytes, Number(announced))
  if (announced === undefined || response.statusCode === 304) return collect(response, maxBytes)
  const bytes = Buffer.allocUnsafeSlow(Number(announced))
  if ((await copyBody(response, bytes)) < bytes.length) throw endedEarly()
  return bytes
}

function endedEarly(): Error {
  return Object.assign(new Error('the answer ended early'), { code: 'ECONNRESET' })
}

async function collect(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > maxBytes) throw new AnswerTooLong(maxBytes, bytes)
  }
  return Buffer.concat(chunks)
}
