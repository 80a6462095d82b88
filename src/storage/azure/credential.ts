import type { newPipeline } from '@azure/storage-blob'
import { KafkaBackupError } from '../../errors.ts'
import { isLoopback } from '../bucket/agents.ts'
import { type AzureOptions, accountOf, endpointOf } from './azure-options.ts'

/** How requests are authenticated. */
export type AzureLogin =
  | { kind: 'key'; account: string; accountKey: string }
  | { kind: 'sas'; sasToken: string }
  | IdentityLogin

export type IdentityLogin =
  | { kind: 'secret'; tenantId: string; clientId: string; clientSecret: string }
  | { kind: 'federated'; tenantId: string; clientId: string; tokenFile: string }
  /** An identity of the platform: environment, workload identity, managed identity, or a login of the Azure CLI. */
  | { kind: 'platform'; clientId?: string }

export type TokenCredential = Extract<Parameters<typeof newPipeline>[0], { getToken: unknown }>

/** A key or a SAS token if the options have one, otherwise an identity. */
export function planLogin(options: AzureOptions): AzureLogin {
  const { accountKey, sasToken, tenantId, clientId, clientSecret, federatedTokenFile: tokenFile } = options
  if (accountKey !== undefined) {
    const account = accountOf(options)
    if (account === undefined) throw unknownAccount()
    return { kind: 'key', account, accountKey }
  }
  if (sasToken !== undefined) {
    if (!isLocal(options)) assertTls('a SAS token', options)
    return { kind: 'sas', sasToken: sasToken.replace(/^\?/, '') }
  }
  assertTls('an identity', options)
  if (tenantId !== undefined && clientId !== undefined) {
    if (clientSecret !== undefined) return { kind: 'secret', tenantId, clientId, clientSecret }
    if (tokenFile !== undefined) return { kind: 'federated', tenantId, clientId, tokenFile }
  }
  return { kind: 'platform', ...(clientId !== undefined && { clientId }) }
}

export function unknownAccount(): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', 'the storage account is unknown', {
    help: 'Set `storage.account`, `?account=` of an `az://` location, or AZURE_STORAGE_ACCOUNT.',
  })
}

/** An emulator on this machine. */
function isLocal(options: AzureOptions): boolean {
  const endpoint = endpointOf(options) ?? ''
  return URL.canParse(endpoint) && isLoopback(new URL(endpoint).hostname)
}

/** A stolen token is enough to log in, so it is never sent unencrypted. */
function assertTls(what: string, options: AzureOptions): void {
  if (!/^http:/i.test(endpointOf(options) ?? '')) return
  throw new KafkaBackupError('LOCATION_INVALID', `${what} needs an https endpoint, but the endpoint is http`, {
    help: 'Give an `https://` endpoint, or an account key (`storage.account_key`, AZURE_STORAGE_KEY).',
  })
}
