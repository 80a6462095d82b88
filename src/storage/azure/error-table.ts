import type { ErrorMeaning } from '../request-error.ts'

export interface AzureMeaning extends ErrorMeaning {
  /** The service means an object that exists: for a request that creates it, the key is taken. */
  isTaken?: boolean
}

const role = 'Grant what docs/azure.md lists: a role on the container, or the permissions of the SAS token.'

const denied: AzureMeaning = { code: 'STORAGE_DENIED', meaning: 'access denied', help: role }
const wrongKey: AzureMeaning = {
  code: 'STORAGE_DENIED',
  meaning: 'the service does not accept the credentials',
  help: 'Check account key, SAS token or identity, and that it belongs to this account.',
}
const busy: AzureMeaning = { code: 'STORAGE_UNAVAILABLE', meaning: 'the service is throttling requests' }
const damaged: AzureMeaning = { code: 'STORAGE_UNAVAILABLE', meaning: 'the bytes were corrupted in transit' }
const archived: AzureMeaning = {
  code: 'STORAGE_DENIED',
  meaning: 'it is in the archive tier',
  help: 'Bring the object back to an online tier first (rehydration).',
}
const retained: AzureMeaning = {
  code: 'STORAGE_RETAINED',
  meaning: 'an immutability policy or a legal hold protects it',
  help: 'It can be removed when the policy has expired or the hold is cleared.',
  isTaken: true,
}
const leased: AzureMeaning = {
  code: 'STORAGE_REFUSED',
  meaning: 'another client holds a lease on it',
  help: 'Break the lease of the blob or the container; kafka-backup takes none.',
}

/** What Azure's error names mean here. */
export const nameTable: Record<string, AzureMeaning> = {
  BlobNotFound: { code: 'STORAGE_NOT_FOUND', meaning: 'it does not exist' },
  ResourceNotFound: {
    code: 'STORAGE_NOT_FOUND',
    meaning: 'it does not exist, or the account does not',
    help: 'Check account, endpoint and container.',
  },
  ContainerNotFound: {
    code: 'STORAGE_NOT_FOUND',
    meaning: 'the container does not exist',
    help: 'Create the container, or correct its name or the account.',
  },
  InvalidBlockList: { code: 'STORAGE_NOT_FOUND', meaning: 'the service no longer has the blocks' },
  BlobAlreadyExists: { code: 'STORAGE_EXISTS', meaning: 'it already exists' },
  ConditionNotMet: { code: 'STORAGE_EXISTS', meaning: 'it already exists' },
  InvalidRange: { code: 'STORAGE_SHORT', meaning: 'it ends before the requested range' },

  AuthenticationFailed: wrongKey,
  InvalidAuthenticationInfo: wrongKey,
  NoAuthenticationInformation: wrongKey,
  AuthorizationFailure: {
    ...denied,
    help: `${role} The firewall of the account has the same effect.`,
  },
  AuthorizationPermissionMismatch: { ...denied, meaning: 'the credentials do not have the permission for it' },
  InsufficientAccountPermissions: { ...denied, meaning: 'the credentials do not have the permission for it' },
  UnauthorizedBlobOverwrite: { ...denied, meaning: 'the credentials may not replace an object', isTaken: true },
  AuthorizationResourceTypeMismatch: { ...denied, meaning: 'the SAS token is not for objects' },
  AuthorizationServiceMismatch: { ...denied, meaning: 'the SAS token is not for blobs' },
  AuthorizationSourceIPMismatch: { ...denied, meaning: 'the SAS token is not for this address' },
  AuthorizationProtocolMismatch: { ...denied, meaning: 'the SAS token is for https only' },
  KeyBasedAuthenticationNotPermitted: {
    ...denied,
    meaning: 'the account does not allow keys',
    help: 'Use an identity of Entra (docs/azure.md), or allow keys on the account.',
  },
  PublicAccessNotPermitted: { ...denied, meaning: 'there are no credentials, and the account is not public' },
  AccountIsDisabled: { code: 'STORAGE_DENIED', meaning: 'the account is disabled' },
  ContainerDisabled: { code: 'STORAGE_DENIED', meaning: 'the container is disabled' },
  BlobArchived: archived,
  BlobBeingRehydrated: archived,

  BlobImmutableDueToPolicy: retained,
  BlobImmutableDueToLegalHold: retained,
  SnapshotsPresent: {
    ...retained,
    meaning: 'it has snapshots',
    help: 'kafka-backup never removes snapshots; delete those of the blob first.',
    isTaken: false,
  },
  LeaseIdMissing: leased,
  LeaseIdMismatchWithBlobOperation: leased,
  LeaseNotPresentWithBlobOperation: leased,

  InvalidResourceName: { code: 'LOCATION_INVALID', meaning: 'this is not the name of a container or object' },
  InvalidUri: { code: 'LOCATION_INVALID', meaning: 'this is not the name of a container or object' },
  OutOfRangeInput: { code: 'LOCATION_INVALID', meaning: 'a name is too long', help: 'Choose a shorter prefix.' },
  AccountRequiresHttps: {
    code: 'LOCATION_INVALID',
    meaning: 'the account accepts https requests only',
    help: 'Write `https://` in the endpoint.',
  },
  UnsupportedHeader: { code: 'STORAGE_UNFIT', meaning: 'the service does not offer this' },

  Md5Mismatch: damaged,
  ServerBusy: busy,
  TooManyRequests: busy,
  OperationTimedOut: { code: 'STORAGE_UNAVAILABLE', meaning: 'the service was too slow' },
  InternalError: { code: 'STORAGE_UNAVAILABLE', meaning: 'the service failed' },
  ContainerBeingDeleted: { code: 'STORAGE_UNAVAILABLE', meaning: 'the container is being deleted' },
  AccountBeingCreated: { code: 'STORAGE_UNAVAILABLE', meaning: 'the account is being created' },
}

export const statusTable: Record<number, AzureMeaning> = {
  401: wrongKey,
  403: denied,
  404: { code: 'STORAGE_NOT_FOUND', meaning: 'it does not exist' },
  405: { code: 'STORAGE_UNFIT', meaning: 'the service does not offer this' },
  408: { code: 'STORAGE_UNAVAILABLE', meaning: 'the service waited too long for the request' },
  409: { code: 'STORAGE_UNAVAILABLE', meaning: 'another operation on it is in progress' },
  412: { code: 'STORAGE_EXISTS', meaning: 'it already exists' },
  416: { code: 'STORAGE_SHORT', meaning: 'it ends before the requested range' },
  429: busy,
  501: { code: 'STORAGE_UNFIT', meaning: 'the service does not offer this' },
}

/** Entra did not answer, or failed. The errors of its SDK do not distinguish that from a rejected login. */
export class EntraUnreachable extends Error {
  readonly code: string | undefined

  constructor(message: string, code: string | undefined, cause: unknown) {
    super(message, { cause })
    this.name = 'EntraUnreachable'
    this.code = code
  }
}

const noIdentity: AzureMeaning = {
  code: 'STORAGE_DENIED',
  meaning: 'there are no credentials',
  help: 'Give the job a key, a SAS token or a service principal, set AZURE_STORAGE_KEY, or attach an identity (docs/azure.md).',
}

const refused: AzureMeaning = {
  code: 'CREDENTIALS_REFUSED',
  meaning: 'Entra refused a token to the identity',
  help: 'Check tenant, client and secret or federated token, and `storage.authority_host` in another cloud.',
}

const untrusted: AzureMeaning = {
  code: 'LOCATION_INVALID',
  meaning: 'the certificate of Entra is not trusted',
  help: 'Name the CA of a private cloud, or of a proxy that decrypts TLS, in NODE_EXTRA_CA_CERTS.',
}

/** The meaning of an error of Entra, not of the store; its SDK uses separate error names. */
export function findLoginMeaning(error: Error): AzureMeaning | undefined {
  switch (error.name) {
    case 'EntraUnreachable': {
      const { code = '' } = error as EntraUnreachable
      if (/^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_|ERR_TLS_CERT)/.test(code)) return untrusted
      return { code: 'CREDENTIALS_UNREACHABLE', meaning: 'Entra did not answer' }
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
