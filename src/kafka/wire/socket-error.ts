import { KafkaBackupError } from '../../errors.ts'
import type { Endpoint } from './endpoint.ts'
import { noTlsHelp } from './tls-error.ts'

/** The socket's errno, the one place where it is looked at. */
export function classifySocketError(error: NodeJS.ErrnoException, endpoint: Endpoint): KafkaBackupError {
  const name = `${endpoint.host}:${endpoint.port}`
  const options = { cause: error }
  switch (error.code) {
    case 'ECONNREFUSED':
      return new KafkaBackupError(
        'KAFKA_UNREACHABLE',
        `${name} refused the connection: no broker listens there`,
        options,
      )
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new KafkaBackupError('KAFKA_UNREACHABLE', `the host name of ${name} cannot be resolved`, options)
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ETIMEDOUT':
      return new KafkaBackupError('KAFKA_UNREACHABLE', `${name} cannot be reached over the network`, options)
    default:
      return new KafkaBackupError('KAFKA_DISCONNECTED', `the connection to ${name} broke: ${error.message}`, options)
  }
}

/** How far a connection came before it ended. */
export type ConnectionPhase = 'opening' | 'unanswered' | 'answered'

/** The broker ended the connection. It may be restarting, so it is asked again; when it does so early, more is likely. */
export function hungUp(
  endpoint: Endpoint,
  tls: { clientCert?: string | undefined } | undefined,
  phase: ConnectionPhase,
  cause?: unknown,
): KafkaBackupError {
  const message = `${endpoint.host}:${endpoint.port} closed the connection`
  if (tls === undefined || phase === 'answered') return new KafkaBackupError('KAFKA_DISCONNECTED', message, { cause })
  if (phase === 'opening') {
    const during = `${message} during the TLS handshake: its listener may not speak TLS`
    return new KafkaBackupError('KAFKA_DISCONNECTED', during, { cause, help: noTlsHelp })
  }
  const help = tls.clientCert
    ? `The broker may not accept the client certificate ${tls.clientCert}; see its log.`
    : 'The broker may ask for a client certificate (`security.tls.client_cert`, `client_key`); see its log.'
  return new KafkaBackupError('KAFKA_DISCONNECTED', `${message} right after the TLS handshake`, { cause, help })
}
