import { createHash } from 'node:crypto'
import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'
import { Readable } from 'node:stream'
import {
  AnonymousCredential,
  ContainerClient,
  type HttpOperationResponse,
  type IHttpClient,
  newPipeline,
  type RequestPolicyFactory,
  StorageSharedKeyCredential,
  type WebResource,
} from '@azure/storage-blob'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { copyBody } from '../../lib/copy-body.ts'
import { onUnanswered } from '../../lib/http.ts'
import { nodeHttp, nodeHttps } from '../../lib/node-http.ts'
import { openAgents, type StoreAgents } from '../bucket/agents.ts'
import { ForeignAnswer } from '../request-error.ts'
import { type AzureOptions, azureDefaults, endpointOf } from './azure-options.ts'
import { type AzureLogin, planLogin, type TokenCredential, unknownAccount } from './credential.ts'

export interface OpenedContainer {
  client: ContainerClient
  close(): void
}

/** The SDK's client, set up to send each request once. */
export async function openContainer(options: AzureOptions): Promise<OpenedContainer> {
  const endpoint = endpointOf(options)
  if (endpoint === undefined) throw unknownAccount()
  const login = planLogin(options)
  const agents = await openAgents(options)
  const pipeline = newPipeline(await credentialOf(login, options), {
    httpClient: newHttpClient(agents, { ...azureDefaults, ...options }),
    retryOptions: { maxTries: 1 },
    userAgentOptions: { userAgentPrefix: 'kafka-backup' },
  })
  pipeline.factories.push(contentMd5)
  const query = login.kind === 'sas' ? `?${login.sasToken}` : ''
  const client = new ContainerClient(`${endpoint}/${options.container}${query}`, pipeline)
  return { client, close: () => closeAgents(agents) }
}

async function credentialOf(
  login: AzureLogin,
  options: AzureOptions,
): Promise<StorageSharedKeyCredential | AnonymousCredential | TokenCredential> {
  if (login.kind === 'key') return new StorageSharedKeyCredential(login.account, login.accountKey)
  if (login.kind === 'sas') return new AnonymousCredential()
  return (await import('./identity.ts')).openIdentity(login, options)
}

/** The service rejects a body that does not match its MD5. Set before the request is signed. */
const contentMd5: RequestPolicyFactory = {
  create: next => ({
    sendRequest: request => {
      const { body } = request
      if ((Buffer.isBuffer(body) || typeof body === 'string') && body.length > 0) {
        request.headers.set('Content-MD5', createHash('md5').update(body).digest('base64'))
      }
      return next.sendRequest(request)
    },
  }),
}

function closeAgents({ httpAgent, httpsAgent }: StoreAgents): void {
  httpAgent.destroy()
  httpsAgent.destroy()
}

interface HttpTimeouts {
  connectTimeoutMs: number
  idleTimeoutMs: number
}

/**
 * Sends the SDK's requests through our agents, with idle timeouts, which the SDK's client does not have. A response is read
 * to its end, so a truncated one is an error of the request.
 */
function newHttpClient(agents: StoreAgents, timeouts: HttpTimeouts, clock: Clock = systemClock): IHttpClient {
  return {
    sendRequest: async request => {
      const answer = await send(request, agents, timeouts, clock)
      const body = request.method === 'HEAD' ? Buffer.alloc(0) : await readBody(answer)
      assertOfService(answer)
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
    const outgoing = isPlain ? nodeHttp.request(url, options) : nodeHttps.request(url, options)
    outgoing.once('response', resolve)
    outgoing.once('error', reject)
    onUnanswered(outgoing, reject)
    outgoing.once('timeout', () => outgoing.destroy(timedOut(`silent for ${timeouts.idleTimeoutMs} ms`)))
    limitConnecting(outgoing, timeouts.connectTimeoutMs, clock)
    outgoing.end(request.body as Buffer | string | undefined)
  })
}

/**
 * Every response of the service has headers such as `x-ms-request-id`. Without one, a success, a redirect or a statement about
 * the object comes from something else. Other failures mean the same if something else reports them.
 */
function assertOfService({ statusCode: status = 0, headers }: IncomingMessage): void {
  if (status >= 400 && ![404, 409, 412, 416].includes(status)) return
  if (Object.keys(headers).some(name => name.startsWith('x-ms-'))) return
  throw new ForeignAnswer(status, 'it has no x-ms-request-id')
}

function limitConnecting(outgoing: ClientRequest, timeoutMs: number, clock: Clock): void {
  const cancel = clock.after(timeoutMs, () => outgoing.destroy(timedOut(`no connection within ${timeoutMs} ms`)))
  outgoing.once('close', cancel)
  outgoing.once('socket', socket => {
    if (socket.connecting) socket.once('encrypted' in socket ? 'secureConnect' : 'connect', cancel)
    else cancel()
  })
}

/** Node checks the announced length: a body that ends early is an error of the stream. */
async function readBody(answer: IncomingMessage): Promise<Buffer> {
  const announced = Number(answer.headers['content-length'] ?? Number.NaN)
  if (!Number.isSafeInteger(announced)) {
    const chunks: Buffer[] = []
    for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
  const bytes = Buffer.allocUnsafeSlow(announced)
  return bytes.subarray(0, await copyBody(answer, bytes))
}

/** Set on a response whose body ended with the connection: nothing shows whether it is complete. */
export const unstatedLength = 'x-kafka-backup-unstated-length'

function toResponse(request: WebResource, answer: IncomingMessage, body: Buffer): HttpOperationResponse {
  const status = answer.statusCode ?? 0
  const headers = request.headers.clone()
  for (const name of headers.headerNames()) headers.remove(name)
  for (const [name, value] of Object.entries(answer.headers)) if (value !== undefined) headers.set(name, String(value))
  const isStream = request.streamResponseStatusCodes?.has(status) ?? false
  if (isStream && !headers.contains('content-length')) {
    // The SDK requires it. The last chunk of a chunked body proves that it is complete.
    headers.set('content-length', String(body.length))
    if (!headers.contains('transfer-encoding')) headers.set(unstatedLength, 'true')
  }
  const content = isStream ? { readableStreamBody: Readable.from([body]) } : { bodyAsText: body.toString('utf8') }
  return { request, status, headers, ...content } as HttpOperationResponse
}

function timedOut(message: string): Error {
  return Object.assign(new Error(message), { code: 'ETIMEDOUT' })
}
