import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Clock } from '../lib/clock.ts'

export interface HttpRequest {
  /** Scheme, host and port; anything else in it is not sent. */
  origin: string
  /** With the query, encoded, sent as it is: nothing resolves its dots. */
  path: string
  method: string
  headers: Record<string, string>
  body?: string
  agent: Agent
  timeoutMs: number
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
    const settle = (finish: () => void) => {
      cancel()
      signal.removeEventListener('abort', onAbort)
      finish()
    }
    const fail = (error: unknown) =>
      settle(() => {
        request.destroy()
        reject(error)
      })
    const onAbort = () => fail(signal.reason)
    const cancel = clock.after(sent.timeoutMs, () => fail(new ExchangeTimeout(sent.timeoutMs)))
    signal.addEventListener('abort', onAbort, { once: true })
    request.on('error', fail)
    request.on('response', response => {
      readBody(response).then(body => {
        settle(() => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
      }, fail)
    })
    request.end(sent.body)
  })
}

export class ExchangeTimeout extends Error {
  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`)
  }
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
