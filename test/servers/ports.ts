import { connect, createServer } from 'node:net'

/**
 * Ports on 127.0.0.1 that nothing listens on. They lie below the range that systems use for outgoing connections, so a
 * server that is stopped and started again on its port does not find it taken by somebody's client socket.
 */
export async function findFreePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = 10_000 + Math.floor(Math.random() * 20_000)
    if (await canListen(port)) ports.add(port)
  }
  return [...ports]
}

function canListen(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/** Whether somebody listens on the port of 127.0.0.1. */
export function accepts(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
