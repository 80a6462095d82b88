import { readFile } from 'node:fs/promises'
import type { AuthClient, gaxios } from 'google-auth-library'
import { KafkaBackupError } from '../../errors.ts'
import { inTime, untilAborted } from '../../lib/abort.ts'
import { systemClock } from '../../lib/clock.ts'
import { oneLine } from '../../lib/one-line.ts'
import { isLoopback, openAgents, type StoreAgents } from '../bucket/agents.ts'
import { networkMeaning } from './error.ts'
import { endpointOf, type GcsOptions, gcsDefaults, publicUniverse } from './gcs-options.ts'

/** The credentials of requests. */
export interface GcsIdentity {
  headers(signal: AbortSignal): Promise<Record<string, string>>
  /** The store rejected these headers although they have not expired: get new ones. */
  renew(refused: Record<string, string>): void
  close(): void
}

/** Allows reading, writing and removing objects, but not changing buckets or permissions. */
const scope = 'https://www.googleapis.com/auth/devstorage.read_write'

/** Where the library exchanges the signature of a service account, regardless of its key file. */
const googleTokenUrl = 'https://oauth2.googleapis.com/token'

/** Google's library is loaded only if a login is needed. */
export async function openGcsIdentity(
  options: GcsOptions,
  location: string,
  open: IdentityParts['open'] = openClient,
): Promise<GcsIdentity> {
  if (options.anonymous && options.endpoint === undefined) throw onlyEmulators()
  if (options.anonymous) return { headers: async () => ({}), renew: () => {}, close: () => {} }
  assertSafe(options)
  const key = await readKey(options)
  // Token services are Google's: behind the same proxy, but not signed by the endpoint's private CA.
  const agents = await openAgents(options.proxy === undefined ? {} : { proxy: options.proxy })
  return new LibraryIdentity({ options, key, agents, location, open })
}

interface IdentityParts {
  options: GcsOptions
  key: KeyJson | undefined
  agents: StoreAgents
  location: string
  open: (parts: Pick<IdentityParts, 'options' | 'key' | 'agents'>) => Promise<AuthClient>
}

interface OpenedClient {
  opening: Promise<AuthClient>
  /** Once it is open. */
  client?: AuthClient
}

class LibraryIdentity implements GcsIdentity {
  readonly #parts: IdentityParts
  #opened: OpenedClient | undefined
  #asking: Promise<Record<string, string>> | undefined
  #current: string | undefined

  constructor(parts: IdentityParts) {
    this.#parts = parts
  }

  /** Concurrent callers share one token request. The library renews the token minutes before it expires. */
  headers(signal: AbortSignal): Promise<Record<string, string>> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return untilAborted(this.#asking, signal)
  }

  renew(refused: Record<string, string>): void {
    const client = this.#opened?.client
    // Another call may already have renewed it.
    if (client === undefined || refused.authorization !== this.#current) return
    client.setCredentials({ ...client.credentials, expiry_date: 1 })
  }

  close(): void {
    this.#parts.agents.httpAgent.destroy()
    this.#parts.agents.httpsAgent.destroy()
  }

  /** Callers of the library share its request, and one that is never answered would be the last. */
  #silent(timeoutMs: number): KafkaBackupError {
    this.#opened = undefined
    const message = `no token for ${this.#parts.location} within ${timeoutMs} ms`
    return new KafkaBackupError('CREDENTIALS_UNREACHABLE', message)
  }

  async #request(): Promise<Record<string, string>> {
    this.#opened ??= { opening: this.#parts.open(this.#parts) }
    // When it is open, another one may be in its place.
    const opened = this.#opened
    opened.client = await opened.opening
    return Object.fromEntries(await opened.client.getRequestHeaders(endpointOf(this.#parts.options)))
  }

  async #ask(): Promise<Record<string, string>> {
    const { options, location } = this.#parts
    const { connectTimeoutMs, idleTimeoutMs } = { ...gcsDefaults, ...options }
    const timeoutMs = LIMITED_REQUESTS * (connectTimeoutMs + idleTimeoutMs)
    try {
      const headers = await inTime(this.#request(), timeoutMs, systemClock, () => this.#silent(timeoutMs))
      this.#current = headers.authorization
      return headers
    } catch (error) {
      const isKnown = this.#opened?.client !== undefined
      if (!isKnown) this.#opened = undefined
      throw tokenError(error, isKnown, location)
    }
  }
}

/** The token of an identity, and that of the account which it may use. A request that the library limits ends before all of them. */
const LIMITED_REQUESTS = 2

async function openClient({ options, key, agents }: Parameters<IdentityParts['open']>[0]): Promise<AuthClient> {
  const { GoogleAuth, gaxios, JWT } = await import('google-auth-library')
  const { connectTimeoutMs, idleTimeoutMs } = { ...gcsDefaults, ...options }
  const transporter = new gaxios.Gaxios({
    agent: url => (url.protocol === 'https:' ? agents.httpsAgent : agents.httpAgent),
    timeout: connectTimeoutMs + idleTimeoutMs,
  })
  const auth = new GoogleAuth({
    scopes: [scope],
    // Never sent. Without one the library asks other services for it.
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

/** The fields of credentials that are checked; the rest is for the library. */
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
      help: `Correct ${given}: it must name the JSON file of a service account key or of a workload identity federation.`,
    })
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw wrong('cannot be read', cause)
  })
  const key = parseKey(text)
  if (key === undefined) throw wrong('are not JSON with a `type`')
  if (!keyTypes.includes(key.type)) throw wrong(`have the unknown type ${JSON.stringify(key.type)}`)
  for (const field of tokenUrls) {
    const url = key[field]
    if (url !== undefined && !isSafeUrl(url)) throw wrong(`have a \`${field}\` that is not https`)
  }
  const [own, asked] = [key.universe_domain ?? publicUniverse, options.universeDomain ?? publicUniverse]
  if (own !== asked) throw wrong(`belong to the universe ${own}, but \`storage.universe_domain\` is ${asked}`)
  return key
}

/** The error of the parser may contain a part of the key, so it is dropped. */
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
  return new KafkaBackupError(
    'LOCATION_INVALID',
    '`anonymous` without an endpoint: Google does not accept anonymous requests',
    {
      help: 'Name the emulator in `storage.endpoint` or STORAGE_EMULATOR_HOST, or use credentials.',
    },
  )
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

/** Without the library's error as the cause: it contains the request and its credentials. */
function tokenError(error: unknown, isKnown: boolean, location: string): unknown {
  if (!(error instanceof Error) || error instanceof KafkaBackupError) return error
  const { status } = error as Error & { status?: unknown }
  const text = oneLine(error.message)
  if (typeof status === 'number') {
    const isTemporary = status >= 500 || status === 408 || status === 429
    return isTemporary
      ? new KafkaBackupError(
          'CREDENTIALS_UNREACHABLE',
          `no token for ${location}: its service failed (${status}): ${text}`,
        )
      : new KafkaBackupError('CREDENTIALS_REFUSED', `no token for ${location} (${status}): ${text}`, {
          help: noTokenHelp,
        })
  }
  const network = networkMeaning(error)
  if (network !== undefined && isKnown) {
    const help = network.help === undefined ? {} : { help: network.help }
    const code = network.code === 'STORAGE_UNAVAILABLE' ? 'CREDENTIALS_UNREACHABLE' : network.code
    return new KafkaBackupError(code, `no token for ${location}: ${network.meaning}: ${text}`, help)
  }
  if (isKnown)
    return new KafkaBackupError('CREDENTIALS_REFUSED', `no token for ${location}: ${text}`, { help: noTokenHelp })
  return new KafkaBackupError('STORAGE_DENIED', `there are no credentials for ${location}: ${text}`, {
    help: 'Set `storage.key_file` or GOOGLE_APPLICATION_CREDENTIALS, run `gcloud auth application-default login`, or use the service account of the platform.',
  })
}

const noTokenHelp =
  'Check the credentials: the key may be deleted or disabled, or the identity may not use the account.'
