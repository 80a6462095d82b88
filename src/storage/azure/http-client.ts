import { type Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { type RequestOptions, request as requestHttps } from 'node:https'
import { Readable } from 'node:stream'
import type { HttpOperationResponse, IHttpClient, WebResource } from '@azure/storage-blob'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { onUnanswered } from '../../lib/http.ts'
import type { StoreAgents } from '../bucket/agents.ts'

export interface HttpTimeouts {
  connectTimeoutMs: number
  idleTimeoutMs: number
}

/**
 * How the SDK sends its requests: through our agents, with timeouts for silence, which its own client does not have. An
 * answer is read to its end before it is handed on, so that one that is cut short is an error of the request.
 */
export function newHttpClient(agents: StoreAgents, timeouts: HttpTimeouts, clock: Clock = systemClock): IHttpClient {
  return {
    sendRequest: async request => {
      const answer = await send(request, agents, timeouts, clock)
      const body = request.method === 'HEAD' ? Buffer.alloc(0) : await readBody(answer)
      return toResponse(request, answer, body)
    },
  }
}

function send(
  request: WebResource,
  agents: StoreAgents,
  timeouts: HttpTimeouts,
  clock: Clock,
): Promise<IncomingMessage> {
  const url = new URL(request.url)
  const isPlain = url.protocol === 'http:'
  const options: RequestOptions = {
    agent: (isPlain ? agents.httpAgent : agents.httpsAgent) as Agent,
    method: request.method,
    headers: request.headers.toJson({ preserveCase: true }),
    timeout: timeouts.idleTimeoutMs,
    ...(request.abortSignal !== undefined && { signal: request.abortSignal as AbortSignal }),
  }
  return new Promise((resolve, reject) => {
    const outgoing = isPlain ? requestHttp(url, options) : requestHttps(url, options)
    outgoing.once('response', resolve)
    outgoing.once('error', reject)
    onUnanswered(outgoing, reject)
    outgoing.once('timeout', () => outgoing.destroy(timedOut(`silent for ${timeouts.idleTimeoutMs} ms`)))
    limitConnecting(outgoing, timeouts.connectTimeoutMs, clock)
    outgoing.end(request.body as Buffer | string | undefined)
  })
}

function limitConnecting(outgoing: ClientRequest, timeoutMs: number, clock: Clock): void {
  const cancel = clock.after(timeoutMs, () => outgoing.destroy(timedOut(`no connection within ${timeoutMs} ms`)))
  outgoing.once('close', cancel)
  outgoing.once('socket', socket => {
    if (socket.connecting) socket.once('encrypted' in socket ? 'secureConnect' : 'connect', cancel)
    else cancel()
  })
}

/** The length that was announced is checked by Node: a body that ends before it is an error of the stream. */
async function readBody(answer: IncomingMessage): Promise<Buffer> {
  const announced = Number(answer.headers['content-length'] ?? Number.NaN)
  if (!Number.isSafeInteger(announced)) {
    const chunks: Buffer[] = []
    for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
  const bytes = Buffer.allocUnsafeSlow(announced)
  let filled = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) filled += chunk.copy(bytes, filled)
  return bytes.subarray(0, filled)
}

function toResponse(request: WebResource, answer: IncomingMessage, body: Buffer): HttpOperationResponse {
  const status = answer.statusCode ?? 0
  const headers = request.headers.clone()
  for (const name of headers.headerNames()) headers.remove(name)
  for (const [name, value] of Object.entries(answer.headers)) if (value !== undefined) headers.set(name, String(value))
  const isStream = request.streamResponseStatusCodes?.has(status) ?? false
  const content = isStream ? { readableStreamBody: Readable.from([body]) } : { bodyAsText: body.toString('utf8') }
  return { request, status, headers, ...content } as HttpOperationResponse
}

function timedOut(message: string): Error {
  return Object.assign(new Error(message), { code: 'ETIMEDOUT' })
}
