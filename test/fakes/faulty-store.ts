import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Transform } from 'node:stream'

export type StoreFaultEffect =
  /** The store does as it is told, and the connection breaks before the answer. */
  | 'lose-reply'
  /** The connection breaks before the store hears of it. */
  | 'lose-request'
  /** The connection breaks in the midst of the request. */
  | 'cut-request'
  /** A bit of the body changes on the way. */
  | 'damage-request'
  /** The request is taken in and nothing ever comes back. */
  | 'silence'
  /** The answer stops in the middle of its body. */
  | 'cut-reply'
  /** An object that is there is no hindrance, as in a store that does not know `If-None-Match`. */
  | 'ignore-condition'
  | { status: number; code: string; message?: string; date?: Date }

export interface StoreFault<Name> {
  on: Name
  effect: StoreFaultEffect
  /** How many requests it strikes, from the first that fits; all where it is not given. */
  times?: number
}

export interface FaultyStore<Name> {
  /** `http://127.0.0.1:port` */
  origin: string
  /** The requests in the order they came. */
  readonly requests: readonly Name[]
  /** Ends the proxy, and fails where a fault has never struck: such a test proves nothing. */
  close(): Promise<void>
}

export interface StoreDialect<Name> {
  /** Of the real store, at 127.0.0.1. */
  port: number
  nameOf(incoming: IncomingMessage): Name
  /** How the store says that it refuses. */
  refusal(code: string, message: string): { headers: Record<string, string>; body: string }
  /** Lets the request through as if it had no condition. */
  ignoreCondition(incoming: IncomingMessage): void
}

/** A real store behind a proxy that injects faults. Requests pass as they are, so that their signatures stay valid. */
export async function startFaultyStore<Name>(
  dialect: StoreDialect<Name>,
  faults: readonly StoreFault<Name>[],
): Promise<FaultyStore<Name>> {
  const states = faults.map(fault => ({ ...fault, struck: 0 }))
  const requests: Name[] = []
  const proxy = createServer((incoming, answer) => {
    const name = dialect.nameOf(incoming)
    requests.push(name)
    const fault = states.find(({ on, times, struck }) => on === name && struck < (times ?? Number.POSITIVE_INFINITY))
    if (fault) fault.struck++
    handle(incoming, answer, dialect, fault?.effect)
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  proxy.unref()
  return {
    origin: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      proxy.closeAllConnections()
      await new Promise(resolve => proxy.close(resolve))
      const idle = states.filter(({ struck }) => struck === 0)
      assert.deepEqual(idle, [], 'these faults never struck')
    },
  }
}

function handle<Name>(
  incoming: IncomingMessage,
  answer: ServerResponse,
  dialect: StoreDialect<Name>,
  effect: StoreFaultEffect | undefined,
): void {
  if (effect === 'lose-request') incoming.socket.destroy()
  else if (effect === 'cut-request') incoming.once('data', () => incoming.socket.destroy())
  else if (effect === 'silence') incoming.resume()
  else if (typeof effect === 'object') refuse(incoming, answer, dialect, effect)
  else {
    if (effect === 'ignore-condition') dialect.ignoreCondition(incoming)
    forward(incoming, answer, dialect.port, effect)
  }
}

function refuse<Name>(
  incoming: IncomingMessage,
  answer: ServerResponse,
  dialect: StoreDialect<Name>,
  { status, code, message = 'scripted fault', date }: Extract<StoreFaultEffect, object>,
): void {
  const { headers, body } = dialect.refusal(code, message)
  incoming.resume()
  incoming.once('end', () => {
    answer.writeHead(status, { ...headers, ...(date && { date: date.toUTCString() }) })
    answer.end(body)
  })
}

function forward(
  incoming: IncomingMessage,
  answer: ServerResponse,
  port: number,
  effect: StoreFaultEffect | undefined,
): void {
  const { method, url, headers } = incoming
  const onward = request({ host: '127.0.0.1', port, method, path: url, headers }, reply => {
    if (effect === 'lose-reply') {
      reply.resume()
      reply.once('end', () => incoming.socket.destroy())
      return
    }
    answer.writeHead(reply.statusCode ?? 502, reply.headers)
    if (effect === 'cut-reply') {
      reply.once('data', (chunk: Buffer) => {
        answer.write(chunk.subarray(0, chunk.length >> 1), () => incoming.socket.destroy())
        reply.destroy()
      })
    } else reply.pipe(answer)
  })
  onward.on('error', () => incoming.socket.destroy())
  if (effect === 'damage-request') incoming.pipe(flipOneBit()).pipe(onward)
  else incoming.pipe(onward)
}

function flipOneBit(): Transform {
  let isDone = false
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const copy = Buffer.from(chunk)
      if (!isDone) copy[copy.length - 1] = (copy[copy.length - 1] ?? 0) ^ 1
      isDone = true
      done(null, copy)
    },
  })
}
