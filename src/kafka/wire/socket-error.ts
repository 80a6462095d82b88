import { KafkaBackupError } from '../../errors.ts'
import type { Endpoint } from './endpoint.ts'

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
