import type { Meaning } from './error-table.ts'

/** Entra was not heard, or failed: what its SDK says of that does not tell it from a refusal. */
export class LoginTrouble extends Error {
  readonly code: string | undefined

  constructor(message: string, code: string | undefined, cause: unknown) {
    super(message, { cause })
    this.name = 'LoginTrouble'
    this.code = code
  }
}

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

const untrusted: Meaning = {
  code: 'LOCATION_INVALID',
  meaning: 'the certificate of Entra is not trusted',
  help: 'Name the CA of a private cloud, or of a proxy that opens TLS, in NODE_EXTRA_CA_CERTS.',
}

/** Where it was Entra, and not the store, that failed; its SDK gives its errors names of their own. */
export function findLoginMeaning(error: Error): Meaning | undefined {
  switch (error.name) {
    case 'LoginTrouble': {
      const { code = '' } = error as LoginTrouble
      if (/^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_|ERR_TLS_CERT)/.test(code)) return untrusted
      return { code: 'STORAGE_UNAVAILABLE', meaning: 'Entra did not answer' }
    }
    case 'CredentialUnavailableError':
    case 'AggregateAuthenticationError':
      return noIdentity
    case 'AuthenticationError':
    case 'AuthenticationRequiredError':
      return refused
    default:
      return undefined
  }
}
