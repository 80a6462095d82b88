import type { Server } from 'node:http'

export interface Listener {
  /** With the port that was chosen where 0 was asked for. */
  address: string
  close(): Promise<void>
}

/** Starts the server. `refusal` turns the reason why it cannot listen into an error for the user. */
export async function listenAt(
  server: Server,
  { host, port }: { host: string; port: number },
  refusal: (place: string, cause: NodeJS.ErrnoException) => Error,
): Promise<Listener> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(refusal(`cannot listen on ${host}:${port} (${cause.code ?? cause.message})`, cause))
    })
    server.listen(port, host, () => {
      server.removeAllListeners('error')
      // A connection that cannot be accepted, as when no file is left for it, is its client's loss alone.
      server.on('error', () => undefined)
      resolve()
    })
  })
  const bound = server.address()
  const actual = typeof bound === 'object' && bound ? bound.port : port
  return {
    address: `${host.includes(':') ? `[${host}]` : host}:${actual}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
