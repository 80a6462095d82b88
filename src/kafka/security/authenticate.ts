import { KafkaBackupError } from '../../errors.ts'
import { saslAuthenticate, saslHandshake } from '../api/sasl.ts'
import type { Api } from '../wire/api.ts'
import type { Endpoint } from '../wire/endpoint.ts'
import type { SaslMechanism } from './security-options.ts'

const UNSUPPORTED_SASL_MECHANISM = 33
const ILLEGAL_SASL_STATE = 34

type Call = <Request, Response>(api: Api<Request, Response>, request: Request) => Promise<Response>

/**
 * Logs in over a connection that is open and returns for how many milliseconds the login is good; 0 is for ever. The
 * same serves to log in again on a connection in use (KIP-368), between two requests.
 */
export async function authenticate(
  mechanism: SaslMechanism,
  endpoint: Endpoint,
  { call, isRenewal }: { call: Call; isRenewal: boolean },
  signal: AbortSignal,
): Promise<number> {
  const handshake = await call(saslHandshake, { mechanism: mechanism.name })
  if (isRenewal && handshake.errorCode === ILLEGAL_SASL_STATE) throw renewedTooSoon(endpoint)
  if (handshake.errorCode !== 0) throw refusedHandshake(mechanism, endpoint, handshake)
  const conversation = mechanism.converse(endpoint, signal)
  let lifetimeMs = 0
  let challenge: Buffer = Buffer.alloc(0)
  for (let step = await conversation.next(); !step.done; step = await conversation.next(challenge)) {
    const answer = await call(saslAuthenticate, { bytes: step.value })
    if (answer.errorCode !== 0) throw refusedLogin(mechanism, endpoint, answer.errorMessage, challenge)
    challenge = answer.bytes
    lifetimeMs = answer.sessionLifetimeMs
  }
  return lifetimeMs
}

/**
 * The mechanisms of a listener that asks for a login; undefined for one that does not. A broker ends a connection
 * without a word when a login is missing, but it answers this question before one.
 */
export async function askForMechanisms(call: Call): Promise<string[] | undefined> {
  const { errorCode, mechanisms } = await call(saslHandshake, { mechanism: 'NONE' })
  return errorCode === UNSUPPORTED_SASL_MECHANISM ? mechanisms : undefined
}

export function loginMissing(name: string, mechanisms: readonly string[]): KafkaBackupError {
  return new KafkaBackupError(
    'KAFKA_AUTH',
    `the listener at ${name} requires a login, and the job has none; it accepts ${mechanisms.join(', ')}`,
    { help: 'Set `security.protocol` to SASL_SSL or SASL_PLAINTEXT, and `security.sasl`.' },
  )
}

function refusedHandshake(
  { name }: SaslMechanism,
  endpoint: Endpoint,
  { errorCode, mechanisms }: { errorCode: number; mechanisms: readonly string[] },
): KafkaBackupError {
  const at = `the listener at ${endpoint.host}:${endpoint.port}`
  if (errorCode === UNSUPPORTED_SASL_MECHANISM) {
    return new KafkaBackupError('KAFKA_AUTH', `${at} does not accept ${name}; it accepts ${mechanisms.join(', ')}`, {
      help: 'Set `security.sasl.mechanism` to one of these, or enable it on the broker (`sasl.enabled.mechanisms`).',
    })
  }
  if (errorCode === ILLEGAL_SASL_STATE) {
    return new KafkaBackupError('KAFKA_AUTH', `${at} accepts no login, and the job has one (${name})`, {
      help: 'Set `security.protocol` to SSL or PLAINTEXT without `security.sasl`, or connect to the SASL listener.',
    })
  }
  return new KafkaBackupError('KAFKA_AUTH', `${at} refused to begin a ${name} login (error ${errorCode})`)
}

/** A broker takes no two renewals within a second. The next connection begins with a login that it takes. */
function renewedTooSoon({ host, port }: Endpoint): KafkaBackupError {
  return new KafkaBackupError('KAFKA_DISCONNECTED', `${host}:${port} takes no other login on this connection so soon`)
}

function refusedLogin(
  { name, identity }: SaslMechanism,
  endpoint: Endpoint,
  message: string | null,
  challenge: Buffer,
): KafkaBackupError {
  // OAUTHBEARER: the previous challenge contains the error of the token.
  const said = message || (challenge[0] === 0x7b ? challenge.toString() : '')
  return new KafkaBackupError(
    'KAFKA_AUTH',
    `${endpoint.host}:${endpoint.port} refused the ${name} login as ${identity}${said === '' ? '' : `: ${said}`}`,
  )
}
