import { KafkaBackupError } from '../../errors.ts'
import type { AzureOptions } from './options.ts'

/** What AZURE_STORAGE_CONNECTION_STRING says: `AccountName=…;AccountKey=…;EndpointSuffix=…`. Its text is a secret. */
export function parseConnectionString(text: string): Partial<AzureOptions> {
  const settings = new Map(
    text
      .split(';')
      .map(part => part.trim())
      .filter(part => part !== '')
      .map(part => [part.split('=', 1)[0]?.toLowerCase() ?? '', part.slice(part.indexOf('=') + 1)]),
  )
  if (settings.has('usedevelopmentstorage')) throw invalid('asks for the development storage, which has no TLS')
  const take = (name: string) => settings.get(name) || undefined
  const [account, accountKey, sasToken] = [
    take('accountname'),
    take('accountkey'),
    take('sharedaccesssignature')?.replace(/^\?/, ''),
  ]
  const [endpoint, endpointSuffix] = [take('blobendpoint')?.replace(/\/+$/, ''), take('endpointsuffix')]
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

/** The endpoint is shown as part of the location, so that it holds no login and no SAS token. */
function isPlain(endpoint: string): boolean {
  if (!/^https?:\/\//i.test(endpoint) || !URL.canParse(endpoint)) return false
  const { username, password, search, hash } = new URL(endpoint)
  return [username, password, search, hash].every(part => part === '')
}

function invalid(message: string): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', `AZURE_STORAGE_CONNECTION_STRING ${message}`, {
    help: 'Copy it from the access keys of the storage account, or give account and key apart (docs/azure.md).',
  })
}
