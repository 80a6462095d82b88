import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { rootCertificates } from 'node:tls'
import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { HttpTimeouts } from '../../lib/http.ts'
import { requestToken, type Token, TokenSource } from '../../lib/oauth.ts'
import type { OAuthOptions } from './options.ts'
import { classifyFailure, withoutSecrets } from './registry-error.ts'

export interface TokenParts {
  clock: Clock
  timeouts: HttpTimeouts
  /** PEM of the registry's CA. */
  ca: string | undefined
}

/** The bearer token that all requests share. */
export function openRegistryTokens(options: OAuthOptions, parts: TokenParts): TokenSource {
  return new TokenSource(() => openToken(options, parts), parts.clock)
}

async function openToken(options: OAuthOptions, { clock, timeouts, ca }: TokenParts): Promise<Token> {
  const where = `the token endpoint ${withoutSecrets(options.tokenUrl)}`
  const agent = openAgent(new URL(options.tokenUrl).origin, ca)
  try {
    const parsed = await requestToken(options.tokenUrl, options, { agent, timeouts, clock })
    if ('token' in parsed) return parsed.token
    if (parsed.problem === 'unavailable') {
      throw new KafkaBackupError('REGISTRY_UNREACHABLE', `${where} answered with ${parsed.reason}`)
    }
    throw new KafkaBackupError('REGISTRY_AUTH', `${where} gave no token: ${parsed.reason}`, {
      help: 'Check `token_url`, `client_id`, `client_secret` and `scope` under `enterprise.schema_registry.auth`.',
    })
  } catch (error) {
    throw classifyFailure(error, where)
  }
}

/** Trusts the registry's CA in addition to the public ones: the endpoint is often another company's. */
function openAgent(origin: string, ca: string | undefined): HttpAgent {
  if (!origin.startsWith('https:')) return new HttpAgent()
  return new HttpsAgent({
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
  })
}
