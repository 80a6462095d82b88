import type { IncomingMessage } from 'node:http'
import { startTimeLimit } from '../../lib/abort.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { retry } from '../../lib/retry.ts'
import type { KubeCredentials } from './credentials.ts'
import { exchange, type HttpsRequest, openResponse, readBody } from './https-exchange.ts'
import { classifyAnswer, classifyFailure, KubeError } from './kube-error.ts'
import { openLogin } from './login.ts'

export interface KubeRequest {
  method: string
  path: string
  /** What is asked, for messages: `create jobs.batch in namespace "a"`. */
  where: string
  body?: unknown
  contentType?: string
  accept?: string
}

/** Requests to one API server with one set of credentials. */
export interface Transport {
  /** The JSON of a success. */
  send(request: KubeRequest, signal: AbortSignal): Promise<unknown>
  /** The response as a stream; the caller must destroy it. */
  open(request: KubeRequest, signal: AbortSignal): Promise<IncomingMessage>
  close(): void
}

export interface TransportOptions {
  clock?: Clock
  random?: () => number
  requestTimeoutMs?: number
}

/** Of one request; a list of 500 objects on a busy server takes seconds. */
const REQUEST_TIMEOUT_MS = 30_000
/** Maximum total delay of a deferred call; the caller retries later. */
const MAX_PATIENCE_MS = 60_000
const putOff = { attempts: 6, baseDelayMs: 500, maxDelayMs: 10_000 }

export function openTransport(access: KubeCredentials, options: TransportOptions = {}): Transport {
  const { clock = systemClock, random = Math.random, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options
  const login = openLogin(access, clock.now)
  const prepare = async (request: KubeRequest): Promise<HttpsRequest> => {
    const { agent, headers } = await login.current()
    return { server: access.server, agent, ...formatRequest(request, headers) }
  }
  const patiently = <T>(request: KubeRequest, call: () => Promise<T>, signal: AbortSignal) => {
    const untilMs = clock.monotonic() + MAX_PATIENCE_MS
    const isInTime = (error: unknown) => clock.monotonic() + askedDelayMs(error) <= untilMs
    return retry(
      () => call().catch(error => Promise.reject(signal.aborted ? signal.reason : error)),
      putOff,
      {
        clock,
        random,
        isRetryable: error => (wasPutOff(error) && isInTime(error)) || wasNeverRead(error, request.method),
        leastDelayMs: askedDelayMs,
      },
      signal,
    )
  }
  return {
    send: (request, signal) =>
      patiently(
        request,
        async () => sendOnce(await prepare(request), request, requestTimeoutMs, clock, signal),
        signal,
      ),
    open: (request, signal) =>
      patiently(
        request,
        async () => openOnce(await prepare(request), request, requestTimeoutMs, clock, signal),
        signal,
      ),
    close: () => login.close(),
  }
}

function formatRequest(request: KubeRequest, login: object) {
  const { method, path, body, contentType = 'application/json', accept = 'application/json' } = request
  const text = body === undefined ? undefined : JSON.stringify(body)
  const type = text === undefined ? {} : { 'content-type': contentType }
  const headers = { accept, 'user-agent': 'kafka-backup-operator', ...type, ...login }
  return { method, path, headers, ...(text === undefined ? {} : { body: text }) }
}

async function sendOnce(
  prepared: HttpsRequest,
  { where }: KubeRequest,
  timeoutMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<unknown> {
  const answer = await exchange(prepared, timeoutMs, clock, signal).catch(error => {
    throw classifyFailure(error, where)
  })
  if (answer.status < 200 || answer.status > 299) throw classifyAnswer(answer, where)
  try {
    return JSON.parse(answer.body)
  } catch (cause) {
    throw new KubeError(
      'KUBE_PROTOCOL',
      `cannot ${where}: the answer is not JSON`,
      { status: answer.status },
      { cause },
    )
  }
}

/** The time limit covers the head of the answer only. */
async function openOnce(
  prepared: HttpsRequest,
  { where }: KubeRequest,
  timeoutMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const limit = startTimeLimit(timeoutMs, clock, signal)
  try {
    const response = await openResponse(prepared, limit.signal)
    const { statusCode: status = 0, headers } = response
    if (status < 200 || status > 299) throw classifyAnswer({ status, headers, body: await readBody(response) }, where)
    // From here on the caller ends it.
    signal.addEventListener('abort', () => response.destroy(), { once: true })
    return response
  } catch (error) {
    throw classifyFailure(limit.reasonOf(error), where)
  } finally {
    limit.end()
  }
}

function askedDelayMs(error: unknown): number {
  return error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0
}

/** The server did nothing and asks for a retry. */
function wasPutOff(error: unknown): boolean {
  if (!(error instanceof KubeError)) return false
  return error.status === 429 || (error.status === 503 && error.retryAfterMs !== undefined)
}

/**
 * The server closed a kept connection at the moment it was used again. A request that changes nothing when it comes
 * twice is sent over a new one.
 */
function wasNeverRead(error: unknown, method: string): boolean {
  const { code, reusedSocket } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException & { reusedSocket?: boolean }
  return reusedSocket === true && (code === 'ECONNRESET' || code === 'EPIPE') && method !== 'POST' && method !== 'PUT'
}
