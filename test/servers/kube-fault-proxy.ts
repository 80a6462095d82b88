import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { makeIdentity } from './certificates.ts'
import { makeGuardedFolder } from './guard.ts'
import type { Kube } from './kube.ts'
import type { KubeCredentials } from './kube-connection.ts'

/** A request that changes something, other than those of leader election. */
export interface KubeWrite {
  /** 1, 2, … since the proxy was told to count. */
  nth: number
  method: string
  /** With its query. */
  path: string
  body: string
}

export interface WriteFault {
  /** Whether the server gets the request. */
  moment: 'before' | 'after'
  /** What the client gets in place of the server's answer. */
  answer: 'cut' | 'hang' | { status: number; retryAfterSeconds?: number }
  /** Done at that moment, before the client gets its answer: a kill. */
  act?: () => Promise<void>
}

/** How the proxy treats all that comes: `cut off` is a network that takes and answers nothing. */
export type ProxyWeather = 'fine' | 'silent watches' | 'cut off'

export interface KubeFaultProxy {
  /** The same rights at the address of the proxy; only tokens go through it. */
  through(credentials: KubeCredentials): KubeCredentials
  /** Asked for every write; those of leases are neither numbered nor asked for. */
  onWrite: (write: KubeWrite) => WriteFault | undefined
  /** All that came, in order. */
  writes: KubeWrite[]
  /** All requests that came, watches and those of leases among them. */
  requests: { method: string; path: string }[]
  /** Watches that are open now. */
  openWatches: number
  /** Begins with number 1 again. */
  reset(): void
  /** Watches that were silent stay so in fine weather, as their connection is lost. */
  weather: ProxyWeather
  /** Ends all connections. */
  cut(): void
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Stands before the API server for one client, and does to its requests what networks and servers do. */
export async function startKubeFaultProxy(kube: Kube): Promise<KubeFaultProxy> {
  const folder = await makeGuardedFolder('kube-proxy')
  const authority = await makeIdentity(folder.path, 'proxy-ca')
  const own = await makeIdentity(folder.path, 'proxy', { signedBy: authority, names: 'IP:127.0.0.1' })
  const [ca, cert, key] = await Promise.all([authority.cert, own.cert, own.key].map(file => readFile(file, 'utf8')))
  const agent = new Agent({ keepAlive: true, ca: kube.ca })
  const state: ProxyState = {
    kube,
    agent,
    writes: [],
    requests: [],
    openWatches: 0,
    onWrite: () => undefined,
    weather: 'fine',
  }
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    serve(state, incoming, outgoing).catch(() => outgoing.destroy())
  })
  // A watch may say nothing for as long as it likes.
  server.requestTimeout = 0
  const sockets = new Set<Socket>()
  server.on('secureConnection', socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => {})
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  const stop = async () => {
    cut()
    agent.destroy()
    await new Promise(resolve => server.close(resolve))
    await folder.remove()
  }
  return Object.assign(state, {
    through: ({ token = '' }: KubeCredentials) => ({ url, ca: ca ?? '', token }),
    reset: () => void state.writes.splice(0),
    cut,
    stop,
    [Symbol.asyncDispose]: stop,
  })
}

interface ProxyState {
  kube: Kube
  agent: Agent
  writes: KubeWrite[]
  requests: KubeFaultProxy['requests']
  openWatches: number
  onWrite: KubeFaultProxy['onWrite']
  weather: ProxyWeather
}

async function serve(state: ProxyState, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const body = await readAll(incoming)
  if (state.weather === 'cut off') return
  const { method = 'GET', url: path = '/' } = incoming
  state.requests.push({ method, path })
  if (method === 'GET' || path.includes('/leases')) return pass(state, incoming, body, outgoing)
  const write = { nth: state.writes.length + 1, method, path, body: body.toString('utf8') }
  state.writes.push(write)
  const fault = state.onWrite(write)
  if (fault === undefined) return pass(state, incoming, body, outgoing)
  if (fault.moment === 'after') await readAll(await forward(state, incoming, body))
  await fault.act?.()
  answer(fault, outgoing)
}

async function pass(state: ProxyState, incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse) {
  const reply = await forward(state, incoming, body)
  outgoing.once('close', () => reply.destroy())
  if (state.weather === 'cut off') return
  outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
  if (!/[?&]watch=(true|1)/.test(incoming.url ?? '')) {
    pipeline(reply, outgoing, () => {})
    return
  }
  outgoing.flushHeaders()
  state.openWatches++
  outgoing.once('close', () => void state.openWatches--)
  let isLost = state.weather !== 'fine'
  reply.on('data', chunk => {
    isLost ||= state.weather !== 'fine'
    if (!isLost) outgoing.write(chunk)
  })
  reply.once('end', () => !isLost && outgoing.end())
  reply.once('error', () => outgoing.destroy())
}

function forward({ kube, agent }: ProxyState, incoming: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
  const { host: _, connection: _own, 'transfer-encoding': _coding, ...headers } = incoming.headers
  return new Promise((resolve, reject) => {
    const options = { method: incoming.method ?? 'GET', agent, headers: { ...headers, 'content-length': body.length } }
    const onward = request(new URL(incoming.url ?? '/', kube.url), options, resolve)
    onward.once('error', reject)
    onward.end(body)
  })
}

function answer({ answer: how }: WriteFault, outgoing: ServerResponse): void {
  if (how === 'cut') outgoing.destroy()
  if (typeof how === 'string') return
  const { status, retryAfterSeconds } = how
  const reasons: Record<number, string> = { 409: 'Conflict', 429: 'TooManyRequests', 500: 'InternalError' }
  const reason = reasons[status] ?? 'ServiceUnavailable'
  const object = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message: 'of the test', code: status }
  outgoing.writeHead(status, {
    'content-type': 'application/json',
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  })
  outgoing.end(JSON.stringify(object))
}

async function readAll(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
