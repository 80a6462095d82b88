import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { type Agent, request } from 'node:https'
import { startTimeLimit } from '../../lib/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { onUnanswered } from '../../lib/http.ts'

export interface HttpsRequest {
  server: string
  /** With the query, encoded. */
  path: string
  method: string
  headers: Record<string, string>
  body?: string
  agent: Agent
}

export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

/** Only a page of 500 objects of etcd's maximum size (1.5 MB) would be larger. */
const MAX_BODY_BYTES = 256 * 1024 * 1024

/** One request and its complete response within the timeout. Rejects with Node's own errors, or with the signal's reason. */
export async function exchange(
  sent: HttpsRequest,
  timeoutMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const limit = startTimeLimit(timeoutMs, clock, signal)
  try {
    const response = await openResponse(sent, limit.signal)
    const { statusCode: status = 0, headers } = response
    return { status, headers, body: await readBody(response) }
  } catch (error) {
    if (limit.signal.aborted) closeIdle(sent.agent)
    throw limit.reasonOf(error)
  } finally {
    limit.end()
  }
}

/** Resolves with the response head; destroying the response, or the signal, ends the connection. */
export function openResponse(sent: HttpsRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { server, path, method, headers, body, agent } = sent
  const base = new URL(server)
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const opened = request(
      {
        // IPv6 addresses come in brackets, which no resolver accepts.
        host: base.hostname.replace(/^\[|\]$/g, ''),
        port: base.port || 443,
        path: `${base.pathname.replace(/\/+$/, '')}${path}`,
        method,
        headers: { ...headers, ...length },
        agent,
        signal,
      },
      resolve,
    )
    opened.once('error', error => reject(Object.assign(error, { reusedSocket: opened.reusedSocket })))
    onUnanswered(opened, reject)
    opened.end(body)
  })
}

/**
 * Closes idle connections; active ones continue. If a request got no response, the idle connections may be dead too, and
 * each would cost a timeout to find out.
 */
export function closeIdle(agent: Agent | undefined): void {
  for (const socket of Object.values(agent?.freeSockets ?? {}).flatMap(sockets => sockets ?? [])) socket.destroy()
}

export async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) throw new Error(`the answer is longer than ${MAX_BODY_BYTES} bytes`)
  }
  return Buffer.concat(chunks).toString('utf8')
}
