import { readFile } from 'node:fs/promises'
import type { AuthClient, gaxios } from 'google-auth-library'
import { KafkaBackupError } from '../../errors.ts'
import { oneLine } from '../../lib/one-line.ts'
import { untilAborted } from '../../lib/until-aborted.ts'
import { openAgents, type StoreAgents } from '../bucket/agents.ts'
import { isLoopback } from '../loopback.ts'
import { networkMeaning } from './error.ts'
import { endpointOf, type GcsOptions, gcsDefaults, publicUniverse } from './options.ts'

/** What a request shows to say who makes it. */
export interface GcsIdentity {
  headers(signal: AbortSignal): Promise<Record<string, string>>
  /** These headers were not accepted, though they should still be good: the next ones are new. */
  renew(refused: Record<string, string>): void
  close(): void
}

/** Objects may be read, written and removed with it; buckets and permissions stay out of reach. */
const scope = 'https://www.googleapis.com/auth/devstorage.read_write'

/** Where the library exchanges the signature of a service account, whatever its key file says. */
const googleTokenUrl = 'https://oauth2.googleapis.com/token'

/** The library of Google's identities is loaded when somebody has to log in. */
export async function openGcsIdentity(options: GcsOptions, location: string): Promise<GcsIdentity> {
  if (options.anonymous && options.endpoint === undefined) throw onlyEmulators()
  if (options.anonymous) return { headers: async () => ({}), renew: () => {}, close: () => {} }
  assertSafe(options)
  const key = await readKey(options)
  // The services that give out tokens are Google's own: behind the same proxy, but not of the endpoint's private CA.
  const agents = await openAgents(options.proxy === undefined ? {} : { proxy: options.proxy })
  return new LibraryIdentity({ options, key, agents, location })
}

interface IdentityParts {
  options: GcsOptions
  key: KeyJson | undefined
  agents: StoreAgents
  location: string
}

class LibraryIdentity implements GcsIdentity {
  readonly #parts: IdentityParts
  #client: Promise<AuthClient> | undefined
  #loaded: AuthClient | undefined
  #asking: Promise<Record<string, string>> | undefined
  #current: string | undefined

  constructor(parts: IdentityParts) {
    this.#parts = parts
  }

  /** However many ask, one request for a token is under way. The library renews it minutes before it runs out. */
  headers(signal: AbortSignal): Promise<Record<string, string>> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return untilAborted(this.#asking, signal)
  }

  renew(refused: Record<string, string>): void {
    const client = this.#loaded
    // Another call may have renewed it meanwhile.
    if (client === undefined || refused.authorization !== this.#current) return
    client.setCredentials({ ...client.credentials, expiry_date: 1 })
  }

  close(): void {
    this.#parts.agents.httpAgent.destroy()
    this.#parts.agents.httpsAgent.destroy()
  }

  async #ask(): Promise<Record<string, string>> {
    const { options, location } = this.#parts
    try {
      this.#client ??= openClient(this.#parts)
      this.#loaded = await this.#client
      const headers = Object.fromEntries(await this.#loaded.getRequestHeaders(endpointOf(options)))
      this.#current = headers.authorization
      return headers
    } catch (error) {
      if (this.#loaded === undefined) this.#client = undefined
      throw tokenError(error, this.#loaded !== undefined, location)
    }
  }
}

async function openClient({ options, key, agents }: IdentityParts): Promise<AuthClient> {
  const { GoogleAuth, gaxios, JWT } = await import('google-auth-library')
  const { connectTimeoutMs, idleTimeoutMs } = { ...gcsDefaults, ...options }
  const transporter = new gaxios.Gaxios({
    agent: url => (url.protocol === 'https:' ? agents.httpsAgent : agents.httpAgent),
    timeout: connectTimeoutMs + idleTimeoutMs,
  })
  const auth = new GoogleAuth({
    scopes: [scope],
    // Sent nowhere. Without one the library asks yet other services which it is.
    projectId: 'unknown',
    ...(key !== undefined && { credentials: key }),
    clientOptions: { transporter, ...(options.universeDomain && { universeDomain: options.universeDomain }) },
  })
  const client = await auth.getClient()
  const tokenUri = key?.token_uri
  if (client instanceof JWT && tokenUri !== undefined && tokenUri !== googleTokenUrl) {
    client.additionalClaims = { aud: tokenUri }
    redirectTokens(transporter, tokenUri)
  }
  return client
}

function redirectTokens(transporter: gaxios.Gaxios, tokenUri: string): void {
  transporter.interceptors.request.add({
    resolved: async config => {
      if (config.url.href === googleTokenUrl) config.url = new URL(tokenUri)
      return config
    },
  })
}

/** What is looked at of credentials; the rest is for the library. */
interface KeyJson {
  type: string
  token_uri?: string
  token_url?: string
  service_account_impersonation_url?: string
  universe_domain?: string
}

/** Where secrets or tokens are sent for other tokens. */
const tokenUrls = ['token_uri', 'token_url', 'service_account_impersonation_url'] as const

const keyTypes = ['service_account', 'external_account', 'authorized_user', 'impersonated_service_account']

async function readKey(options: GcsOptions): Promise<KeyJson | undefined> {
  const variable = process.env.GOOGLE_APPLICATION_CREDENTIALS || undefined
  const path = options.keyFile ?? variable
  if (path === undefined) return undefined
  const given = options.keyFile === undefined ? 'GOOGLE_APPLICATION_CREDENTIALS' : '`storage.key_file`'
  const wrong = (what: string, cause?: unknown) =>
    new KafkaBackupError('LOCATION_INVALID', `the credentials ${path} ${what}`, {
      ...(cause !== undefined && { cause }),
      help: `Correct ${given}: it names the JSON of a service account key or of a workload identity federation.`,
    })
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw wrong('cannot be read', cause)
  })
  const key = parseKey(text)
  if (key === undefined) throw wrong('are not JSON with a `type`')
  if (!keyTypes.includes(key.type)) throw wrong(`are of the type ${JSON.stringify(key.type)}, which is not known`)
  for (const field of tokenUrls) {
    const url = key[field]
    if (url !== undefined && !isSafeUrl(url)) throw wrong(`have a \`${field}\` that is not https`)
  }
  const [own, asked] = [key.universe_domain ?? publicUniverse, options.universeDomain ?? publicUniverse]
  if (own !== asked) throw wrong(`are of the universe ${own}, and \`storage.universe_domain\` is ${asked}`)
  return key
}

/** The text of an error of the parser may hold a part of the key, so it is dropped. */
function parseKey(text: string): KeyJson | undefined {
  try {
    const key: unknown = JSON.parse(text)
    const isKey = typeof key === 'object' && key !== null && 'type' in key && typeof key.type === 'string'
    return isKey ? (key as KeyJson) : undefined
  } catch {
    return undefined
  }
}

function onlyEmulators(): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', '`anonymous` without an endpoint: Google takes no such requests', {
    help: 'Name the emulator in `storage.endpoint` or STORAGE_EMULATOR_HOST, or use credentials.',
  })
}

function assertSafe(options: GcsOptions): void {
  const endpoint = endpointOf(options)
  if (isSafeUrl(endpoint)) return
  throw new KafkaBackupError('LOCATION_INVALID', `${endpoint} is not https, and a token would be sent in the clear`, {
    help: 'Give the endpoint as `https://`, or for an emulator set `storage.anonymous: true`.',
  })
}

function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}

/** Without the library's own error as the cause: it holds the request, and that holds what it logs in with. */
function tokenError(error: unknown, isKnown: boolean, location: string): unknown {
  if (!(error instanceof Error) || error instanceof KafkaBackupError) return error
  const { status } = error as Error & { status?: unknown }
  const text = oneLine(error.message)
  if (typeof status === 'number') {
    const isPassing = status >= 500 || status === 408 || status === 429
    return isPassing
      ? new KafkaBackupError('STORAGE_UNAVAILABLE', `no token for ${location}: its service failed (${status}): ${text}`)
      : new KafkaBackupError('STORAGE_DENIED', `no token for ${location} (${status}): ${text}`, { help: noTokenHelp })
  }
  const network = networkMeaning(error)
  if (network !== undefined && isKnown) {
    const help = network.help === undefined ? {} : { help: network.help }
    return new KafkaBackupError(network.code, `no token for ${location}: ${network.meaning}: ${text}`, help)
  }
  if (isKnown) return new KafkaBackupError('STORAGE_DENIED', `no token for ${location}: ${text}`, { help: noTokenHelp })
  return new KafkaBackupError('STORAGE_DENIED', `there are no credentials for ${location}: ${text}`, {
    help: 'Set `storage.key_file` or GOOGLE_APPLICATION_CREDENTIALS, run `gcloud auth application-default login`, or use the service account of the platform.',
  })
}

const noTokenHelp =
  'Check the credentials: their key may be deleted or disabled, or the identity is not allowed to use the account.'
