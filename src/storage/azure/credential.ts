import type { newPipeline, StoragePipelineOptions } from '@azure/storage-blob'
import { KafkaBackupError } from '../../errors.ts'
import { systemClock } from '../../lib/clock.ts'
import { type AzureOptions, accountOf, azureDefaults, endpointOf } from './options.ts'

/** How requests prove who sends them. */
export type AzureLogin =
  | { kind: 'key'; account: string; accountKey: string }
  | { kind: 'sas'; sasToken: string }
  | { kind: 'secret'; tenantId: string; clientId: string; clientSecret: string }
  | { kind: 'federated'; tenantId: string; clientId: string; tokenFile: string }
  /** Whatever the platform offers: environment, workload identity, managed identity, a login of the Azure CLI. */
  | { kind: 'platform'; clientId?: string }

export type TokenCredential = Extract<Parameters<typeof newPipeline>[0], { getToken: unknown }>

/** Which of the ways the options mean. A key or a SAS that is there is used; an identity is looked for otherwise. */
export function planLogin(options: AzureOptions): AzureLogin {
  const { accountKey, sasToken, tenantId, clientId, clientSecret, federatedTokenFile } = options
  if (accountKey !== undefined) {
    const account = accountOf(options)
    if (account === undefined) throw unknownAccount()
    return { kind: 'key', account, accountKey }
  }
  if (sasToken !== undefined) return { kind: 'sas', sasToken: sasToken.replace(/^\?/, '') }
  assertTls(options)
  if (tenantId !== undefined && clientId !== undefined) {
    if (clientSecret !== undefined) return { kind: 'secret', tenantId, clientId, clientSecret }
    if (federatedTokenFile !== undefined)
      return { kind: 'federated', tenantId, clientId, tokenFile: federatedTokenFile }
  }
  return { kind: 'platform', ...(clientId !== undefined && { clientId }) }
}

/** An identity of Entra. Its SDK is loaded here, as keys and SAS tokens do without it. */
export async function openIdentity(
  login: Extract<AzureLogin, { kind: 'secret' | 'federated' | 'platform' }>,
  options: AzureOptions,
): Promise<TokenCredential> {
  const identity = await import('@azure/identity')
  const { proxyOptions } = proxyOf(options)
  const common = {
    ...(options.authorityHost !== undefined && { authorityHost: options.authorityHost }),
    ...(proxyOptions !== undefined && { proxyOptions }),
    // Another cloud has addresses that the list of the public one does not know.
    disableInstanceDiscovery: options.authorityHost !== undefined,
  }
  const single = { ...common, retryOptions: { maxRetries: 0 } }
  switch (login.kind) {
    case 'secret':
      return limited(
        new identity.ClientSecretCredential(login.tenantId, login.clientId, login.clientSecret, single),
        options,
      )
    case 'federated': {
      const { tenantId, clientId, tokenFile: tokenFilePath } = login
      return limited(new identity.WorkloadIdentityCredential({ ...single, tenantId, clientId, tokenFilePath }), options)
    }
    case 'platform': {
      const ids = login.clientId === undefined ? {} : { managedIdentityClientId: login.clientId }
      return limited(new identity.DefaultAzureCredential({ ...common, ...ids }), options)
    }
    default:
      return login satisfies never
  }
}

/** For Entra's own requests; without the field its SDK follows HTTPS_PROXY and NO_PROXY. */
export function proxyOf({ proxy }: Pick<AzureOptions, 'proxy'>): Pick<StoragePipelineOptions, 'proxyOptions'> {
  if (proxy === undefined) return {}
  const { protocol, hostname, port, username, password } = new URL(proxy)
  return {
    proxyOptions: {
      host: `${protocol}//${hostname}`,
      port: Number(port || (protocol === 'https:' ? 443 : 80)),
      ...(username !== '' && { username: decodeURIComponent(username), password: decodeURIComponent(password) }),
    },
  }
}

export function unknownAccount(): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', 'the storage account is not known', {
    help: 'Set `storage.account`, `?account=` of an `az://` location, or AZURE_STORAGE_ACCOUNT.',
  })
}

/** A token is all that a thief needs, so it does not travel in the clear. */
function assertTls(options: AzureOptions): void {
  if (!/^http:/i.test(endpointOf(options) ?? '')) return
  throw new KafkaBackupError('LOCATION_INVALID', 'an identity is used over https only, and the endpoint is http', {
    help: 'Give an `https://` endpoint, or an account key (`storage.account_key`, AZURE_STORAGE_KEY).',
  })
}

/** Entra's SDK knows no timeout of its own: a login that never answers is left after a while. */
function limited(credential: TokenCredential, { idleTimeoutMs }: AzureOptions): TokenCredential {
  const timeoutMs = idleTimeoutMs ?? azureDefaults.idleTimeoutMs
  return {
    getToken: (scopes, options) =>
      new Promise((resolve, reject) => {
        const late = Object.assign(new Error(`no token within ${timeoutMs} ms`), { code: 'ETIMEDOUT' })
        const cancel = systemClock.after(timeoutMs, () => reject(late))
        credential.getToken(scopes, options).then(resolve, reject).finally(cancel)
      }),
  }
}
