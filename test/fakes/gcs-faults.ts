import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { GcsServer } from '../servers/fake-gcs.ts'
import { GcsSessions, refusal, type SessionAnswer, type SessionRequest } from './gcs-sessions.ts'

/** What a request to the store is for. */
export type GcsRequestName =
  | 'insert'
  | 'begin'
  | 'chunk'
  | 'finish'
  | 'state'
  | 'cancel'
  | 'look'
  | 'read'
  | 'list'
  | 'remove'

export type GcsFaultEffect =
  /** The store does as it is told, and the connection breaks before the answer. */
  | 'lose-reply'
  /** The connection breaks before the store hears of it. */
  | 'lose-request'
  /** The connection breaks when half of the request has come. */
  | 'cut-request'
  /** The request is taken in and nothing ever comes back. */
  | 'silence'
  /** The answer stops in the middle of its body. */
  | 'cut-reply'
  /** One byte of the answer is another. */
  | 'damage-reply'
  /** A part of what came is kept, and the answer says so. */
  | 'take-half'
  /** An object that is there is no hindrance, as in a store that does not know `ifGenerationMatch`. */
  | 'ignore-condition'
  | { status: number; reason: string; message?: string }

export interface GcsFault {
  on: GcsRequestName
  effect: GcsFaultEffect
  /** How many requests it strikes, from the first that fits; all where it is not given. */
  times?: number
}

export interface FaultyGcs {
  endpoint: string
  /** The requests in the order they came. */
  readonly requests: readonly GcsRequestName[]
  /** What they showed to say who makes them. */
  readonly authorizations: readonly (string | undefined)[]
  /** Uploads that were neither finished nor cancelled. */
  readonly openUploads: number
  /** Ends the proxy, and fails where a fault has never struck: such a test proves nothing. */
  close(): Promise<void>
}

/** Who may pass; all where it is not given. */
export type Doorman = (authorization: string | undefined) => boolean

/** The server behind a proxy that injects faults and keeps strictly to what Cloud Storage says of uploads. */
export async function startFaultyGcs(
  server: GcsServer,
  faults: readonly GcsFault[],
  isWelcome: Doorman = () => true,
): Promise<FaultyGcs> {
  const states = faults.map(fault => ({ ...fault, struck: 0 }))
  const requests: GcsRequestName[] = []
  const authorizations: (string | undefined)[] = []
  const sessions = new GcsSessions(sent => forward(server, sent))
  const proxy = createServer((incoming, answer) => {
    const name = nameOf(incoming)
    requests.push(name)
    authorizations.push(incoming.headers.authorization)
    const fault = states.find(({ on, times, struck }) => on === name && struck < (times ?? Number.POSITIVE_INFINITY))
    if (fault) fault.struck++
    const serve = isWelcome(incoming.headers.authorization)
      ? handle({ server, sessions, name, effect: fault?.effect }, incoming, answer)
      : readRequest(incoming).then(() => send(answer, refusal(401, 'authError', 'Invalid Credentials')))
    serve.catch(() => incoming.socket.destroy())
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  proxy.unref()
  return {
    endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    requests,
    authorizations,
    get openUploads() {
      return sessions.open
    },
    close: async () => {
      proxy.closeAllConnections()
      await new Promise(resolve => proxy.close(resolve))
      const idle = states.filter(({ struck }) => struck === 0)
      assert.deepEqual(idle, [], 'these faults never struck')
    },
  }
}

interface Scene {
  server: GcsServer
  sessions: GcsSessions
  name: GcsRequestName
  effect: GcsFaultEffect | undefined
}

async function handle(scene: Scene, incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
  const { effect } = scene
  if (effect === 'lose-request') return void incoming.socket.destroy()
  if (effect === 'cut-request') return void incoming.once('data', () => incoming.socket.destroy())
  const sent = await readRequest(incoming)
  if (effect === 'silence') return
  if (typeof effect === 'object') return send(answer, refusal(effect.status, effect.reason, effect.message))
  if (effect === 'ignore-condition') sent.url = sent.url.replace('ifGenerationMatch=0', '')
  const reply = await serve(scene, sent)
  if (effect === 'lose-reply') return void incoming.socket.destroy()
  const body = reply.body ?? Buffer.alloc(0)
  if (effect === 'damage-reply') body.writeUInt8(body.readUInt8(0) ^ 1, 0)
  if (effect !== 'cut-reply') return send(answer, reply)
  answer.writeHead(reply.status, { ...reply.headers, 'content-length': body.length })
  answer.write(body.subarray(0, body.length >> 1), () => incoming.socket.destroy())
}

function serve(
  { server, sessions, name, effect }: Scene,
  sent: SessionRequest,
): Promise<SessionAnswer> | SessionAnswer {
  switch (name) {
    case 'begin':
      return sessions.begin(sent)
    case 'chunk':
    case 'finish':
    case 'state':
      return sessions.put(sent, effect === 'take-half' ? sent.body.length >> 1 : undefined)
    case 'cancel':
      return sessions.cancel(sent)
    default:
      return forward(server, sent)
  }
}

async function readRequest(incoming: IncomingMessage): Promise<SessionRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
  const { method = '', url = '', headers } = incoming
  return { method, url, headers, body: Buffer.concat(chunks) }
}

function forward({ port }: GcsServer, { method, url, headers, body }: SessionRequest): Promise<SessionAnswer> {
  return new Promise((resolve, reject) => {
    const onward = request({ host: '127.0.0.1', port, method, path: url, headers }, async reply => {
      const chunks: Buffer[] = []
      for await (const chunk of reply as AsyncIterable<Buffer>) chunks.push(chunk)
      const { 'transfer-encoding': _, ...rest } = reply.headers
      resolve({ status: reply.statusCode ?? 502, headers: rest as Record<string, string>, body: Buffer.concat(chunks) })
    })
    onward.on('error', reject)
    onward.end(body)
  })
}

function send(answer: ServerResponse, { status, headers = {}, body = Buffer.alloc(0) }: SessionAnswer): void {
  answer.writeHead(status, { ...headers, 'content-length': body.length })
  answer.end(body)
}

function nameOf({ method = '', url = '', headers }: IncomingMessage): GcsRequestName {
  const { pathname, searchParams } = new URL(url, 'http://x')
  if (pathname.startsWith('/upload/')) {
    if (method === 'DELETE') return 'cancel'
    if (method === 'POST') return searchParams.get('uploadType') === 'resumable' ? 'begin' : 'insert'
    const range = String(headers['content-range'])
    if (range === 'bytes */*') return 'state'
    return range.endsWith('/*') ? 'chunk' : 'finish'
  }
  if (method === 'DELETE') return 'remove'
  if (pathname.startsWith('/download/')) return 'read'
  return pathname.endsWith('/o') ? 'list' : 'look'
}
