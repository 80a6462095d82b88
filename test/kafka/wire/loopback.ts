import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Connection } from '../../../src/kafka/wire/connection.ts'
import { type Clock, systemClock } from '../../../src/lib/clock.ts'

export interface Loopback {
  port: number
  sockets: Set<Socket>
  connect(options?: { timeoutMs?: number; signal?: AbortSignal; clock?: Clock }): Promise<Connection>
}

const never = new AbortController().signal

/** A server on loopback that does with each connection what it is told; all is closed after the work. */
export async function withLoopback(
  onSocket: (socket: Socket) => void,
  work: (server: Loopback) => Promise<void>,
): Promise<void> {
  const sockets = new Set<Socket>()
  const connections: Connection[] = []
  const server = createServer(socket => {
    sockets.add(socket)
    socket.setNoDelay(true).on('error', () => undefined)
    onSocket(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    await work({
      port,
      sockets,
      connect: async ({ timeoutMs = 5000, signal = never, clock = systemClock } = {}) => {
        const connection = await Connection.open({ endpoint: { host: '127.0.0.1', port }, timeoutMs, clock }, signal)
        connections.push(connection)
        return connection
      },
    })
  } finally {
    for (const connection of connections) connection.close()
    for (const socket of sockets) socket.destroy()
    const closed = once(server, 'close')
    server.close()
    await closed
  }
}

/** A frame as it travels: its length, then its content. */
export function frame(content: Buffer | string): Buffer {
  const bytes = Buffer.from(content as string)
  const length = Buffer.alloc(4)
  length.writeInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
