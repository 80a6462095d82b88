import { connect, isIP, type OnReadOpts, type Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import type { KafkaBackupError } from '../../errors.ts'
import { nodeTls } from '../../lib/node-http.ts'
import { type ConnectionPhase, classifySocketError, classifyTlsError, hungUp } from './connection-error.ts'
import type { Endpoint } from './endpoint.ts'

/** What TLS is done with; the server's certificate and host name are always verified. */
export interface TlsSettings {
  context: SecureContext
  /** The file of the certificate that we show, for messages. */
  clientCert?: string | undefined
  hasOwnCa: boolean
}

/** A socket that is ready at its event `readyEvent`; plain and TLS read alike through `onread`. */
export function openSocket(endpoint: Endpoint, tls: TlsSettings | undefined, onread: OnReadOpts): Socket {
  const options = { ...endpoint, noDelay: true, keepAlive: true, onread }
  if (tls === undefined) return connect(options)
  return nodeTls.connect({
    ...options,
    secureContext: tls.context,
    // Said here, so that no environment variable turns it off.
    rejectUnauthorized: true,
    // TLS has no server names for addresses; the address itself is then looked for in the certificate.
    ...(isIP(endpoint.host) === 0 && { servername: endpoint.host }),
  })
}

export function readyEvent(tls: TlsSettings | undefined): 'connect' | 'secureConnect' {
  return tls === undefined ? 'connect' : 'secureConnect'
}

/** A socket's error as ours. How far the connection came says what a lost one may mean. */
export function classifyFailure(
  error: NodeJS.ErrnoException,
  endpoint: Endpoint,
  tls: TlsSettings | undefined,
  phase: ConnectionPhase,
): KafkaBackupError {
  const name = `${endpoint.host}:${endpoint.port}`
  // On a connection that has served, TLS itself was agreed upon: what breaks then is the line.
  const ofTls = tls && phase !== 'answered' ? classifyTlsError(error, { name, ...tls }) : undefined
  if (ofTls) return ofTls
  if (error.code === 'ECONNRESET' || error.code === 'EPIPE') return hungUp(endpoint, tls, phase, error)
  return classifySocketError(error, endpoint)
}
