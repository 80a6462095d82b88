import type { newPipeline } from '@azure/storage-blob'
import { KafkaBackupError } from '../../errors.ts'
import { isLoopback } from '../loopback.ts'
import { type AzureOptions, accountOf, endpointOf } from './options.ts'

/** How requests prove who sends them. */
export type AzureLogin =
  | { kind: 'key'; account: string; accountKey: string }
  | { kind: 'sas'; sasToken: string }
  | IdentityLogin

export type IdentityLogin =
  | { kind: 'secret'; tenantId: string; clientId: string; clientSecret: string }
  | { kind: 'federated'; tenantId: string; clientId: string; tokenFile: string }
  /** Whatever the platform offers: environment, workload identity, managed identity, a login of the Azure CLI. */
  | { kind: 'platform'; clientId?: string }

export type TokenCredential = Extract<Parameters<typeof newPipeline>[0], { getToken: unknown }>

/** Which of the ways the options mean. A key or a SAS that is there is used; an identity is looked for otherwise. */
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
  return new KafkaBackupError('LOCATION_INVALID', 'the storage account is not known', {
    help: 'Set `storage.account`, `?account=` of an `az://` location, or AZURE_STORAGE_ACCOUNT.',
  })
}

/** An emulator on this very machine. */
function isLocal(options: AzureOptions): boolean {
  const endpoint = endpointOf(options) ?? ''
  return URL.canParse(endpoint) && isLoopback(new URL(endpoint).hostname)
}

/** A token is all that a thief needs, so it does not travel in the clear. */
function assertTls(what: string, options: AzureOptions): void {
  if (!/^http:/i.test(endpointOf(options) ?? '')) return
  throw new KafkaBackupError('LOCATION_INVALID', `${what} is used over https only, and the endpoint is http`, {
    help: 'Give an `https://` endpoint, or an account key (`storage.account_key`, AZURE_STORAGE_KEY).',
  })
}
