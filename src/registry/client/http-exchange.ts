import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from '../../lib/clock.ts'

export interface HttpRequest {
  /** Scheme, host and port; anything else in it is not sent. */
  origin: string
  /** With the query, encoded, sent as it is: nothing resolves its dots. */
  path: string
  method: string
  headers: Record<string, string>
  body?: string
  agent: Agent
  timeouts: Timeouts
}

export interface Timeouts {
  /** Of a new connection, TLS included. */
  connectMs: number
  /** Of the whole exchange. */
  requestMs: number
}

export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

/** A page of schemas is some megabytes; what is larger than this does not come from a registry. */
const MAX_BODY_BYTES = 256 * 1024 * 1024

/** Sends one request and reads the whole answer. Redirects are answers like others. Rejects with Node's own errors. */
export function exchange(sent: HttpRequest, clock: Clock, signal: AbortSignal): Promise<HttpAnswer> {
  const open = sent.origin.startsWith('https:') ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const headers = {
      ...sent.headers,
      ...(sent.body !== undefined && { 'content-length': String(Buffer.byteLength(sent.body)) }),
    }
    const request = open(sent.origin, { path: sent.path, method: sent.method, headers, agent: sent.agent })
    let cancelConnect = () => {}
    const settle = (finish: () => void) => {
      cancel()
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
    const { connectMs, requestMs } = sent.timeouts
    const cancel = clock.after(requestMs, () => fail(new Error(`no answer within ${requestMs} ms`)))
    signal.addEventListener('abort', onAbort, { once: true })
    request.on('socket', socket => {
      if (request.reusedSocket) return
      cancelConnect = clock.after(connectMs, () => fail(new Error(`no connection within ${connectMs} ms`)))
      socket.once(open === requestHttps ? 'secureConnect' : 'connect', cancelConnect)
    })
    request.on('error', fail)
    request.on('response', response => {
      readBody(response).then(body => {
        settle(() => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
      }, fail)
    })
    request.end(sent.body)
  })
}

export class AnswerTooLong extends Error {
  constructor() {
    super(`the answer is longer than ${MAX_BODY_BYTES} bytes`)
  }
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) throw new AnswerTooLong()
  }
  return Buffer.concat(chunks).toString('utf8')
}
