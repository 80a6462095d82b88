import { KafkaBackupError } from '../../errors.ts'
import type { Endpoint } from './endpoint.ts'

/** What a connection was opened with, as far as it explains a failure. */
interface TlsFailureContext {
  /** What was connected to: `broker-1:9093`. */
  name: string
  /** Of the certificate that we would show; undefined where we have none. */
  clientCert?: string | undefined
  hasOwnCa: boolean
}

/** Node's codes for a server certificate that does not pass. */
const certificateFaults: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'is signed by a CA that is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'is signed by a CA that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT: 'is signed by a CA that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'is signed by a CA that is not trusted',
  CERT_SIGNATURE_FAILURE: 'has a wrong signature',
  CERT_UNTRUSTED: 'is not trusted',
  INVALID_CA: 'is signed by a certificate that is not a CA certificate',
  INVALID_PURPOSE: 'is not meant for servers',
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  CERT_REVOKED: 'is revoked',
}

/** The failure of a TLS connection as an error of the table; undefined where it is not one of TLS. */
export function classifyTlsError(
  error: NodeJS.ErrnoException,
  context: TlsFailureContext,
): KafkaBackupError | undefined {
  const code = error.code ?? ''
  const fail = (message: string, help?: string) =>
    new KafkaBackupError('KAFKA_TLS', message, { cause: error, ...(help !== undefined && { help }) })
  const fault = certificateFaults[code]
  if (fault !== undefined) return fail(`the certificate of ${context.name} ${fault}`, helpFor(code, context))
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = 'cert' in error ? String((error.cert as { subjectaltname?: string }).subjectaltname ?? '') : ''
    return fail(
      `the certificate of ${context.name} is not for this host${names === '' ? '' : `: it names ${names}`}`,
      'Connect by a name that the certificate has, or let it name the address that the broker advertises.',
    )
  }
  // The connection broke; this is not about TLS.
  if (code.includes('UNEXPECTED_EOF') || (!code.startsWith('ERR_SSL_') && code !== 'EPROTO')) return undefined
  return classifyAlert(code, context, fail)
}

function helpFor(code: string, { hasOwnCa }: TlsFailureContext): string | undefined {
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return "Renew the broker's certificate; check the clock of this machine too."
  }
  return hasOwnCa
    ? 'Put the CA that signed the certificate into the file of `security.tls.ca_cert`.'
    : 'Set `security.tls.ca_cert` to the file of the CA that signed the certificate.'
}

/** What the other side said in a TLS alert, or what is wrong with what it sent. */
function classifyAlert(
  code: string,
  { name, clientCert }: TlsFailureContext,
  fail: (message: string, help?: string) => KafkaBackupError,
): KafkaBackupError {
  if (/CERTIFICATE_REQUIRED|ALERT_.*CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|DECRYPT_ERROR/.test(code)) {
    const said = code
      .replace(/^.*ALERT_/, '')
      .replaceAll('_', ' ')
      .toLowerCase()
    return clientCert === undefined
      ? fail(
          `${name} asks for a client certificate (it said: ${said})`,
          'Set `security.tls.client_cert` and `security.tls.client_key`.',
        )
      : fail(
          `${name} refuses the client certificate ${clientCert} (it said: ${said})`,
          "The CA that signed it has to be in the broker's trust store, and it must not have expired.",
        )
  }
  if (
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|RECORD_TOO_|BAD_RECORD_TYPE|UNEXPECTED_MESSAGE|HTTP_REQUEST/.test(code)
  ) {
    return fail(`${name} does not speak TLS`, noTlsHelp)
  }
  if (/PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|HANDSHAKE_FAILURE|NO_SHARED_CIPHER|INSUFFICIENT_SECURITY/.test(code)) {
    return fail(
      `${name} and this client have no TLS version or cipher in common (${code})`,
      'TLS 1.2 or 1.3 is needed.',
    )
  }
  return fail(`TLS with ${name} failed (${code})`)
}

const noTlsHelp = 'The listener may be one without TLS: connect to the TLS listener, or correct `security.protocol`.'

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
