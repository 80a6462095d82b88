import type { Meaning } from './error-table.ts'

const noIdentity: Meaning = {
  code: 'STORAGE_DENIED',
  meaning: 'there are no credentials',
  help: 'Give the job a key, a SAS token or a service principal, set AZURE_STORAGE_KEY, or attach an identity (docs/azure.md).',
}

const refused: Meaning = {
  code: 'STORAGE_DENIED',
  meaning: 'Entra gave no token to the identity',
  help: 'Check tenant, client and secret or federated token, and `storage.authority_host` in another cloud.',
}

/** Where it was Entra, and not the store, that failed; its SDK gives its errors names of their own. */
export function findLoginMeaning(error: Error): Meaning | undefined {
  switch (error.name) {
    case 'CredentialUnavailableError':
    case 'AggregateAuthenticationError':
      return noIdentity
    case 'AuthenticationError':
      return isPassing(error) ? unreachable : refused
    case 'AuthenticationRequiredError':
      return refused
    default:
      return undefined
  }
}

const unreachable: Meaning = { code: 'STORAGE_UNAVAILABLE', meaning: 'Entra did not answer' }

function isPassing(error: Error): boolean {
  const { statusCode } = error as Error & { statusCode?: unknown }
  return typeof statusCode === 'number' && (statusCode >= 500 || statusCode === 429 || statusCode === 408)
}
