import type { Server } from 'node:http'
import type { SecureContextOptions, Server as TlsServer } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from './clock.ts'

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

/** PEM. */
export interface TlsFiles {
  cert: string
  key: string
  /** Of the clients, where they need a certificate. */
  ca?: string
}

export interface CertificateSource {
  /** What the server began with. */
  files: TlsFiles
  read: () => Promise<TlsFiles>
  clock: Clock
  /** Called once for what cannot be used and stays so; the server keeps what it had. */
  onFailure: (error: unknown) => void
}

/** Soon enough for what is renewed days before it ends. */
const INTERVAL_MS = 30_000

/**
 * Takes renewed certificates without a restart: new connections get what the files have at most half a minute later. A certificate and a key that do not
 * belong together are those of a renewal that is under way, unless they are the same half a minute later. Returns how to end it.
 */
export function renewCertificate(
  server: TlsServer,
  fixed: SecureContextOptions,
  { files, read, clock, onFailure }: CertificateSource,
): () => void {
  let current = files
  /** What was found and could not be used. */
  let failed: { found: unknown; isReported: boolean } | undefined
  let cancel: () => void = () => undefined
  let isEnded = false
  const look = async () => {
    let found: unknown
    try {
      const renewed = await read()
      found = renewed
      if (isEnded) return
      if (!isDeepStrictEqual(renewed, current)) server.setSecureContext({ ...fixed, ...renewed })
      current = renewed
      failed = undefined
    } catch (error) {
      found ??= String(error)
      const isSame = failed !== undefined && isDeepStrictEqual(failed.found, found)
      const isReported = isSame && failed?.isReported === true
      if (isSame && !isReported && !isEnded) onFailure(unusable(error))
      failed = { found, isReported: isSame }
    } finally {
      if (!isEnded) cancel = clock.after(INTERVAL_MS, () => void look())
    }
  }
  cancel = clock.after(INTERVAL_MS, () => void look())
  return () => {
    isEnded = true
    cancel()
  }
}

function unusable(error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error)
  return new Error(`the renewed certificate cannot be used, and the one before is served: ${reason}`)
}
