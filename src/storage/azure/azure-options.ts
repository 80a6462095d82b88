import { KafkaBackupError } from '../../errors.ts'
import { AZURE_CONTAINER_PATTERN } from '../../lib/name-patterns.ts'
import {
  type AddressKind,
  formatAddress,
  formatFileSetting,
  invalidAddress,
  parseAddress,
  parseEndpoint,
} from '../bucket/address.ts'
import { type BucketOptions, bucketDefaults, type Environment } from '../bucket/agents.ts'

/** How to reach and write to a container of Azure Blob Storage. Defaults come from `azureDefaults` or the environment. */
export interface AzureOptions extends BucketOptions {
  container: string
  /** All keys are below it. */
  prefix?: string
  /** The storage account. Default: that of the endpoint or the environment. */
  account?: string
  /** The address of the account's blob service, as `BlobEndpoint` of a connection string. */
  endpoint?: string
  /** Of the cloud, if the endpoint follows from the account: `core.windows.net`. */
  endpointSuffix?: string
  accountKey?: string
  sasToken?: string
  tenantId?: string
  clientId?: string
  clientSecret?: string
  /** A file with a token of another identity provider, which Entra exchanges. */
  federatedTokenFile?: string
  /** The Entra endpoint of a cloud other than the public one. */
  authorityHost?: string
}

export const azureDefaults = {
  endpointSuffix: 'core.windows.net',
  ...bucketDefaults,
} as const

/**
 * Adds values of the environment: account and key under the names of the Azure CLI, an identity under the names that
 * platforms set. The options take precedence. Keys of the environment are used only for the account that it names, and
 * only if the job has no identity.
 */
export function resolveAzureOptions(options: AzureOptions, env: Environment = process.env): AzureOptions {
  const found = readEnvironment(env)
  const requested = accountOf(options)
  const account = requested ?? found.account
  const isSame = requested === undefined || requested === found.account
  const endpoint = {
    ...(account !== undefined && { account }),
    ...(isSame && options.endpoint === undefined && options.endpointSuffix === undefined && endpointFields(found)),
  }
  const isOpen = !hasLogin(options) && options.clientId === undefined && (isSame || found.account === undefined)
  const keys = isOpen ? keyFields(found) : {}
  const identity = hasLogin({ ...options, ...keys }) ? {} : readIdentity(env)
  return { ...identity, ...options, ...endpoint, ...keys }
}

/** The account of the options, or of the endpoint: the first part of its path or of its host. */
export function accountOf({ account, endpoint }: Pick<AzureOptions, 'account' | 'endpoint'>): string | undefined {
  if (account !== undefined || endpoint === undefined || !URL.canParse(endpoint)) return account
  const { hostname, pathname } = new URL(endpoint)
  const inPath = pathname.split('/')[1]
  return inPath || /^([a-z0-9-]+)\.blob\./.exec(hostname)?.[1]
}

/** The address of the account's blob service; undefined if the account is unknown. */
export function endpointOf(options: AzureOptions): string | undefined {
  if (options.endpoint !== undefined) return options.endpoint.replace(/\/+$/, '')
  const { account, endpointSuffix = azureDefaults.endpointSuffix } = options
  return account === undefined ? undefined : `https://${account}.blob.${endpointSuffix}`
}

function readEnvironment(env: Environment): Partial<AzureOptions> {
  const given = (name: string) => env[name] || undefined
  const text = given('AZURE_STORAGE_CONNECTION_STRING')
  if (text !== undefined) {
    const parsed = parseConnectionString(text)
    const named = accountOf(parsed)
    return { ...parsed, ...(named !== undefined && { account: named }) }
  }
  const [account, accountKey] = [given('AZURE_STORAGE_ACCOUNT'), given('AZURE_STORAGE_KEY')]
  const sasToken = given('AZURE_STORAGE_SAS_TOKEN')
  return {
    ...(account !== undefined && { account }),
    ...(accountKey !== undefined && { accountKey }),
    ...(sasToken !== undefined && { sasToken }),
  }
}

function endpointFields({ endpoint, endpointSuffix }: Partial<AzureOptions>): Partial<AzureOptions> {
  return { ...(endpoint !== undefined && { endpoint }), ...(endpointSuffix !== undefined && { endpointSuffix }) }
}

function keyFields({ accountKey, sasToken }: Partial<AzureOptions>): Partial<AzureOptions> {
  if (accountKey !== undefined) return { accountKey }
  return sasToken === undefined ? {} : { sasToken }
}

/** A service principal, or the workload identity of a Kubernetes pod. Entra's SDK finds all other identities. */
function readIdentity(env: Environment): Partial<AzureOptions> {
  const tenantId = env.AZURE_TENANT_ID || undefined
  const [clientId, clientSecret] = [env.AZURE_CLIENT_ID || undefined, env.AZURE_CLIENT_SECRET || undefined]
  const federatedTokenFile = env.AZURE_FEDERATED_TOKEN_FILE || undefined
  const proof = clientSecret === undefined ? federatedTokenFile && { federatedTokenFile } : { clientSecret }
  if (tenantId === undefined || !proof || env.AZURE_TOKEN_CREDENTIALS) return {}
  return { tenantId, ...(clientId !== undefined && { clientId }), ...proof }
}

function hasLogin({ accountKey, sasToken, clientSecret, federatedTokenFile }: Partial<AzureOptions>): boolean {
  return [accountKey, sasToken, clientSecret, federatedTokenFile].some(each => each !== undefined)
}

const address: AddressKind = {
  scheme: 'az',
  noun: 'container',
  isName: text => new RegExp(AZURE_CONTAINER_PATTERN).test(text) && text.length <= 63,
  settings: ['account', 'endpoint', 'endpoint_suffix', 'ca_cert'],
  credentials: 'Set AZURE_STORAGE_KEY, or use a job file.',
  help: 'Write `az://container/prefix?account=…`; the other settings are endpoint, endpoint_suffix and ca_cert.',
}

/** `az://container/prefix?account=…`. All other options come from the environment or need a job file. */
export function parseAzureLocation(text: string): AzureOptions {
  // The parameters of a shared access signature: an address that was copied with it contains a secret.
  if (/[?&](sig|sv|se|sp|sr)=/.test(text)) {
    throw invalidAddress(address, 'takes no SAS token', 'Set AZURE_STORAGE_SAS_TOKEN, or use a job file.')
  }
  const { name: container, prefix, settings } = parseAddress(text, address)
  const [account, endpoint] = [settings.get('account'), settings.get('endpoint')]
  const [endpointSuffix, caCert] = [settings.get('endpoint_suffix'), settings.get('ca_cert')]
  return {
    container,
    ...(prefix !== '' && { prefix }),
    ...(account !== undefined && { account }),
    ...(endpoint !== undefined && { endpoint: parseBlobEndpoint(endpoint) }),
    ...(endpointSuffix !== undefined && { endpointSuffix }),
    ...(caCert !== undefined && { caCert }),
  }
}

/** The text that `parseAzureLocation` reads back. */
export function formatAzureLocation(options: AzureOptions): string {
  const { container, prefix, account, endpoint, endpointSuffix, caCert } = options
  return formatAddress(
    address,
    { name: container, prefix },
    {
      account: account && encodeURIComponent(account),
      endpoint,
      endpoint_suffix: endpointSuffix,
      ca_cert: formatFileSetting(caCert),
    },
  )
}

/** Text after a `?` may be a SAS token, so the message leaves it out. */
function parseBlobEndpoint(text: string): string {
  const endpoint = parseEndpoint(text, address)
  const { search, hash } = new URL(endpoint)
  if (search === '' && hash === '') return endpoint
  throw invalidAddress(address, 'has an `endpoint` with more than a path')
}

/** AZURE_STORAGE_CONNECTION_STRING: `AccountName=…;AccountKey=…;EndpointSuffix=…`. Its text is a secret. */
function parseConnectionString(text: string): Partial<AzureOptions> {
  const settings = new Map(
    text
      .split(';')
      .map(part => part.trim())
      .filter(part => part !== '')
      .map(part => [part.split('=', 1)[0]?.toLowerCase() ?? '', part.slice(part.indexOf('=') + 1)]),
  )
  if (settings.has('usedevelopmentstorage')) throw invalid('requests the development storage, which has no TLS')
  const setting = (name: string) => settings.get(name) || undefined
  const [account, accountKey, sasToken] = [
    setting('accountname'),
    setting('accountkey'),
    setting('sharedaccesssignature')?.replace(/^\?/, ''),
  ]
  const [endpoint, endpointSuffix] = [setting('blobendpoint')?.replace(/\/+$/, ''), setting('endpointsuffix')]
  if (account === undefined && endpoint === undefined) throw invalid('names neither AccountName nor BlobEndpoint')
  if (endpoint !== undefined && !isPlain(endpoint)) throw invalid('has a BlobEndpoint that is more than an address')
  return {
    ...(account !== undefined && { account }),
    ...(accountKey !== undefined && { accountKey }),
    ...(sasToken !== undefined && { sasToken }),
    ...(endpoint !== undefined && { endpoint }),
    ...(endpointSuffix !== undefined && { endpointSuffix }),
  }
}

/** The endpoint is shown as part of the location, so it must contain no login and no SAS token. */
function isPlain(endpoint: string): boolean {
  if (!/^https?:\/\//i.test(endpoint) || !URL.canParse(endpoint)) return false
  const { username, password, search, hash } = new URL(endpoint)
  return [username, password, search, hash].every(part => part === '')
}

function invalid(message: string): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', `AZURE_STORAGE_CONNECTION_STRING ${message}`, {
    help: 'Copy it from the access keys of the storage account, or give account and key separately (docs/azure.md).',
  })
}
