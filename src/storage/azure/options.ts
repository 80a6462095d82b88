import { parseConnectionString } from './connection-string.ts'

/** How a container of Azure Blob Storage is reached and written to. What is left out has the default of `azureDefaults` or of the environment. */
export interface AzureOptions {
  container: string
  /** All keys are below it. */
  prefix?: string
  /** The storage account. Where it is not given, the endpoint or the environment names it. */
  account?: string
  /** The address of the account's blob service, as `BlobEndpoint` of a connection string. */
  endpoint?: string
  /** Of the cloud, where the endpoint follows from the account: `core.windows.net`. */
  endpointSuffix?: string
  accountKey?: string
  sasToken?: string
  tenantId?: string
  clientId?: string
  clientSecret?: string
  /** A file with a token of another identity provider, which Entra exchanges for one of its own. */
  federatedTokenFile?: string
  /** Where Entra answers, in another cloud than the public one. */
  authorityHost?: string
  /** A file of CA certificates that are trusted instead of the public ones, for the store alone. */
  caCert?: string
  proxy?: string
  partSizeBytes?: number
  /** Blocks on their way at the same time; each holds its memory until it has arrived. */
  uploads?: number
  connectTimeoutMs?: number
  /** How long a connection may be silent while an answer is due. */
  idleTimeoutMs?: number
}

const MiB = 2 ** 20

export const azureDefaults = {
  endpointSuffix: 'core.windows.net',
  /** What one open segment holds in memory. 50,000 blocks make 244 GiB. */
  partSizeBytes: 5 * MiB,
  uploads: 4,
  connectTimeoutMs: 10_000,
  idleTimeoutMs: 60_000,
} as const

export type AzureEnvironment = Readonly<Record<string, string | undefined>>

/**
 * The options with what the environment says: of the account and its key under the names of the Azure CLI, of an identity
 * under those that platforms set. What was given comes first: keys of the environment are for the account that it names,
 * and only where the job brings no identity.
 */
export function resolveAzureOptions(options: AzureOptions, env: AzureEnvironment = process.env): AzureOptions {
  const said = readEnvironment(env)
  const asked = accountOf(options)
  const account = asked ?? said.account
  const isSame = asked === undefined || asked === said.account
  const place = {
    ...(account !== undefined && { account }),
    ...(isSame && options.endpoint === undefined && options.endpointSuffix === undefined && placeOf(said)),
  }
  const isOpen = !hasLogin(options) && options.clientId === undefined && (isSame || said.account === undefined)
  const keys = isOpen ? keysOf(said) : {}
  const identity = hasLogin({ ...options, ...keys }) ? {} : identityOf(env)
  return { ...identity, ...options, ...place, ...keys }
}

/** The account that the options name, or that the endpoint shows: as the first part of its path, or of its host. */
export function accountOf({ account, endpoint }: Pick<AzureOptions, 'account' | 'endpoint'>): string | undefined {
  if (account !== undefined || endpoint === undefined || !URL.canParse(endpoint)) return account
  const { hostname, pathname } = new URL(endpoint)
  const inPath = pathname.split('/')[1]
  return inPath || /^([a-z0-9-]+)\.blob\./.exec(hostname)?.[1]
}

/** The address of the account's blob service; undefined where nothing names the account. */
export function endpointOf(options: AzureOptions): string | undefined {
  if (options.endpoint !== undefined) return options.endpoint.replace(/\/+$/, '')
  const { account, endpointSuffix = azureDefaults.endpointSuffix } = options
  return account === undefined ? undefined : `https://${account}.blob.${endpointSuffix}`
}

function readEnvironment(env: AzureEnvironment): Partial<AzureOptions> {
  const given = (name: string) => env[name] || undefined
  const text = given('AZURE_STORAGE_CONNECTION_STRING')
  if (text !== undefined) {
    const said = parseConnectionString(text)
    const named = accountOf(said)
    return { ...said, ...(named !== undefined && { account: named }) }
  }
  const [account, accountKey] = [given('AZURE_STORAGE_ACCOUNT'), given('AZURE_STORAGE_KEY')]
  const sasToken = given('AZURE_STORAGE_SAS_TOKEN')
  return {
    ...(account !== undefined && { account }),
    ...(accountKey !== undefined && { accountKey }),
    ...(sasToken !== undefined && { sasToken }),
  }
}

function placeOf({ endpoint, endpointSuffix }: Partial<AzureOptions>): Partial<AzureOptions> {
  return { ...(endpoint !== undefined && { endpoint }), ...(endpointSuffix !== undefined && { endpointSuffix }) }
}

function keysOf({ accountKey, sasToken }: Partial<AzureOptions>): Partial<AzureOptions> {
  if (accountKey !== undefined) return { accountKey }
  return sasToken === undefined ? {} : { sasToken }
}

/** A service principal, or a workload identity as Kubernetes hands it to a pod; what else there is, Entra's SDK finds. */
function identityOf(env: AzureEnvironment): Partial<AzureOptions> {
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
