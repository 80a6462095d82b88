import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'

/** Who asks, and whom: PEM texts, and a token or a certificate with its key. */
export interface KubeCredentials {
  url: string
  ca: string
  token?: string
  cert?: string
  key?: string
  /** The user that an administrator asks as. */
  impersonated?: string
}

/** An answer other than 2xx: the API server's `Status` object. */
export class KubeError extends Error {
  readonly status: number
  readonly reason: string

  constructor(status: number, reason: string, message: string) {
    super(message)
    this.name = 'KubeError'
    this.status = status
    this.reason = reason
  }
}

export interface KubeRequest {
  method: string
  path: string
  body?: unknown
  contentType?: string
  /** JSON as it is when nothing is said. */
  accept?: string
  signal?: AbortSignal
}

export interface KubeConnection {
  /** The answer's JSON, or its text where it is none. */
  send(call: KubeRequest): Promise<unknown>
  /** The answer as it comes, line by line. */
  stream(call: KubeRequest): Promise<IncomingMessage>
  close(): void
}

/** HTTPS to the API server, with its certificate verified. */
export function openKubeConnection(credentials: KubeCredentials): KubeConnection {
  const { ca, cert, key } = credentials
  const agent = new Agent({ keepAlive: true, ca, ...(cert && key ? { cert, key } : {}) })
  const open = (call: KubeRequest) => openResponse(credentials, agent, call)
  return {
    send: async call => {
      const response = await open(call)
      const text = await readText(response)
      if (!isSuccess(response)) throw parseError(response, text)
      return response.headers['content-type']?.startsWith('application/json') ? JSON.parse(text) : text
    },
    stream: async call => {
      const response = await open(call)
      if (isSuccess(response)) return response
      throw parseError(response, await readText(response))
    },
    close: () => agent.destroy(),
  }
}

function openResponse({ url, token, impersonated }: KubeCredentials, agent: Agent, call: KubeRequest) {
  const { method, path, body, contentType = 'application/json', accept = 'application/json', signal } = call
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    accept,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(impersonated === undefined ? {} : { 'impersonate-user': impersonated }),
    // Node announces no body of a DELETE by itself.
    ...(text === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }),
  }
  return new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(new URL(path, url), { method, agent, headers, ...(signal ? { signal } : {}) }, resolve)
    sent.once('error', reject)
    sent.end(text)
  })
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function isSuccess({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300
}

function parseError({ statusCode = 0 }: IncomingMessage, text: string): KubeError {
  try {
    const { reason = '', message = text } = JSON.parse(text) as { reason?: string; message?: string }
    return new KubeError(statusCode, reason, message)
  } catch {
    return new KubeError(statusCode, '', text)
  }
}
