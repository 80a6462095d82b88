import { readFile } from 'node:fs/promises'
import type { Agent as HttpAgent } from 'node:http'
import type { AgentOptions } from 'node:https'
import { rootCertificates } from 'node:tls'
import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { HttpTimeouts } from '../../lib/http.ts'
import { nodeHttp, nodeHttps } from '../../lib/node-http.ts'
import { requestToken, type Token, TokenSource } from '../../lib/oauth.ts'
import { formatBasic } from './address.ts'
import type { OAuthOptions, RegistryAuth, RegistryOptions } from './client-options.ts'
import { classifyFailure, withoutSecrets } from './registry-error.ts'

/** What every request shows. */
export interface Login {
  /** The Authorization header; undefined where the connection itself is the login, or none is needed. */
  authorization(signal: AbortSignal): Promise<string | undefined>
  /** Told of a 401; true says that a new try shows something else. */
  refused(authorization: string | undefined): boolean
}

export interface Agents {
  for(origin: string): HttpAgent
  close(): void
}

/** Reads the TLS files and says what is missing before the first request. */
export async function openAgents(options: RegistryOptions): Promise<{ agents: Agents; ca: string | undefined }> {
  checkMtls(options)
  const { tls = {}, concurrency } = options
  const [ca, cert, key] = await Promise.all([
    readPem(tls.caCert, 'CA certificate'),
    readPem(tls.clientCert, 'client certificate'),
    readPem(tls.clientKey, 'client key'),
  ])
  const shared = { keepAlive: true, ...(concurrency !== undefined && { maxSockets: concurrency }) }
  const secure: AgentOptions = {
    ...shared,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  }
  const [plainAgent, secureAgent] = [new nodeHttp.Agent(shared), new nodeHttps.Agent(secure)]
  const close = () => {
    plainAgent.destroy()
    secureAgent.destroy()
  }
  return { agents: { for: origin => (origin.startsWith('https:') ? secureAgent : plainAgent), close }, ca }
}

export function makeLogin(auth: RegistryAuth | undefined, parts: TokenParts): Login {
  switch (auth?.type) {
    case 'basic': {
      const header = formatBasic(`${auth.username}:${auth.password}`)
      return { authorization: async () => header, refused: () => false }
    }
    case 'oauth': {
      const tokens = openRegistryTokens(auth, parts)
      return {
        authorization: async signal => `Bearer ${await tokens.token(signal)}`,
        refused: shown => {
          tokens.forget(shown?.replace('Bearer ', '') ?? '')
          return true
        },
      }
    }
    case 'mtls':
    case undefined:
      return { authorization: async () => undefined, refused: () => false }
  }
}

function checkMtls({ auth, tls, urls }: RegistryOptions): void {
  if (auth?.type !== 'mtls') return
  const missing = [
    ...(tls?.caCert === undefined ? ['tls.ca_cert'] : []),
    ...(tls?.clientCert === undefined ? ['tls.client_cert'] : []),
    ...(tls?.clientKey === undefined ? ['tls.client_key'] : []),
    ...(urls.every(url => url.startsWith('https:')) ? [] : ['a url with https']),
  ]
  if (missing.length === 0) return
  throw new KafkaBackupError('CONFIG_INVALID', `auth.type mtls of the schema registry needs ${missing.join(', ')}`)
}

async function readPem(file: string | undefined, what: string): Promise<string | undefined> {
  if (file === undefined) return undefined
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown'
    throw new KafkaBackupError('CONFIG_UNREADABLE', `the ${what} ${file} of the schema registry: ${code}`, {
      cause,
      help: 'Check the path and the permissions of the file.',
    })
  }
}

interface TokenParts {
  clock: Clock
  timeouts: HttpTimeouts
  /** PEM of the registry's CA. */
  ca: string | undefined
}

/** The bearer token that all requests share. */
function openRegistryTokens(options: OAuthOptions, parts: TokenParts): TokenSource {
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
  if (!origin.startsWith('https:')) return new nodeHttp.Agent()
  return new nodeHttps.Agent({
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
  })
}
