import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { HttpTimeout } from '../../lib/http.ts'
import { nodeHttp, nodeHttps } from '../../lib/node-http.ts'
import { requestToken, type Token, type TokenAnswer, TokenSource } from '../../lib/oauth.ts'
import { classifyTlsError } from '../wire/connection-error.ts'
import { readSecret, readText } from './secret.ts'
import type { OAuthOptions, SaslMechanism } from './security-options.ts'

const SEPARATOR = '\x01'

/**
 * RFC 7628: `n,,^Aauth=Bearer <token>^A<name>=<value>^A…^A`. A broker that refuses the token says why in JSON; a lone
 * ^A in return ends the conversation, and the broker's error follows.
 */
export function oauthBearer(
  { clientId, extensions = {} }: Pick<OAuthOptions, 'clientId' | 'extensions'>,
  tokens: Pick<TokenSource, 'token'>,
): SaslMechanism {
  return {
    name: 'OAUTHBEARER',
    identity: clientId,
    async *converse(_endpoint, signal) {
      const token = await tokens.token(signal)
      const fields = [`auth=Bearer ${token}`, ...Object.entries(extensions).map(([name, value]) => `${name}=${value}`)]
      const refusal = yield Buffer.from(['n,,', ...fields, '', ''].join(SEPARATOR))
      if (refusal.length === 0) return
      yield Buffer.from(SEPARATOR)
      throw new KafkaBackupError('KAFKA_AUTH', `the broker refused the token of ${clientId}: ${refusal.toString()}`)
    },
  }
}

interface TokenParts {
  clock: Clock
  timeoutMs: number
}

/** The token that all connections of a cluster share. */
export function openOAuthTokens(options: OAuthOptions, parts: TokenParts): TokenSource {
  return new TokenSource(() => openToken(options, parts), parts.clock)
}

async function openToken(options: OAuthOptions, parts: TokenParts): Promise<Token> {
  const parsed = await askEndpoint(options, parts)
  if ('token' in parsed) return parsed.token
  const endpoint = nameOf(options.tokenUrl)
  if (parsed.problem === 'unavailable') {
    throw new KafkaBackupError('KAFKA_UNREACHABLE', `${endpoint} answered with ${parsed.reason}`, { help: networkHelp })
  }
  throw new KafkaBackupError('KAFKA_AUTH', `${endpoint} gave no token: ${parsed.reason}`, {
    help: 'Check `token_url`, `client_id`, the secret and `scope`.',
  })
}

/** Over verified TLS, or to this machine. */
async function askEndpoint(options: OAuthOptions, { clock, timeoutMs }: TokenParts): Promise<TokenAnswer> {
  const { tokenUrl, caCert } = options
  const clientSecret = await readSecret(options.clientSecret, options.clientSecretFile, 'client secret')
  const ca = caCert === undefined ? undefined : await readText(caCert, 'CA certificate of the token endpoint')
  const agent =
    new URL(tokenUrl).protocol === 'https:'
      ? new nodeHttps.Agent({ rejectUnauthorized: true, minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) })
      : new nodeHttp.Agent()
  const timeouts = { connectMs: timeoutMs, requestMs: timeoutMs }
  try {
    return await requestToken(tokenUrl, { ...options, clientSecret }, { agent, timeouts, clock })
  } catch (error) {
    throw classify(error as NodeJS.ErrnoException, tokenUrl, ca !== undefined)
  }
}

/** The endpoint for messages, without its query, which may contain a key. */
function nameOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return `the token endpoint ${origin}${pathname}`
}

const networkHelp = 'Check the token endpoint and the network, then run the command again.'

function classify(error: NodeJS.ErrnoException, url: string, hasOwnCa: boolean): KafkaBackupError {
  const ofTls = classifyTlsError(error, { name: `the token endpoint ${new URL(url).host}`, hasOwnCa })
  if (ofTls) {
    const help = 'Set `security.sasl.oauth.ca_cert` to the file of the CA that signed the certificate.'
    return new KafkaBackupError('KAFKA_TLS', ofTls.message, { cause: error, help })
  }
  const why = error instanceof HttpTimeout ? error.message : (error.code ?? error.message)
  const message = `${nameOf(url)} cannot be reached: ${why}`
  return new KafkaBackupError('KAFKA_UNREACHABLE', message, { cause: error, help: networkHelp })
}
