import type { ErrorCode } from '../../errors.ts'

export interface Meaning {
  code: ErrorCode
  meaning: string
  help?: string
  /** It is said of an object that is there: whoever wants to create it finds the key taken. */
  isTaken?: boolean
}

const role = 'Grant what docs/azure.md lists: a role on the container, or the permissions of the SAS token.'

const denied: Meaning = { code: 'STORAGE_DENIED', meaning: 'access denied', help: role }
const wrongKey: Meaning = {
  code: 'STORAGE_DENIED',
  meaning: 'the service does not accept the credentials',
  help: 'Check account key, SAS token or identity, and that it belongs to this account.',
}
const busy: Meaning = { code: 'STORAGE_UNAVAILABLE', meaning: 'the service asks for fewer requests' }
const damaged: Meaning = { code: 'STORAGE_UNAVAILABLE', meaning: 'the bytes were damaged on the way' }
const archived: Meaning = {
  code: 'STORAGE_DENIED',
  meaning: 'it lies in the archive tier',
  help: 'Bring the object back to an online tier first (rehydration).',
}
const retained: Meaning = {
  code: 'STORAGE_RETAINED',
  meaning: 'an immutability policy or a legal hold protects it',
  help: 'It can be removed when the policy has run out, or the hold is cleared.',
  isTaken: true,
}
const leased: Meaning = {
  code: 'STORAGE_REFUSED',
  meaning: 'another client holds a lease on it',
  help: 'Break the lease of the blob or the container; nothing here takes one.',
}

/** What the names that Azure gives its errors mean here. */
export const nameTable: Record<string, Meaning> = {
  BlobNotFound: { code: 'STORAGE_NOT_FOUND', meaning: 'it is not there' },
  ResourceNotFound: {
    code: 'STORAGE_NOT_FOUND',
    meaning: 'it is not there, or the account is not',
    help: 'Check account, endpoint and container.',
  },
  ContainerNotFound: {
    code: 'STORAGE_NOT_FOUND',
    meaning: 'the container does not exist',
    help: 'Create the container, or correct its name or the account.',
  },
  InvalidBlockList: { code: 'STORAGE_NOT_FOUND', meaning: 'the service no longer has the blocks' },
  BlobAlreadyExists: { code: 'STORAGE_EXISTS', meaning: 'it is there already' },
  ConditionNotMet: { code: 'STORAGE_EXISTS', meaning: 'it is there already' },
  InvalidRange: { code: 'STORAGE_SHORT', meaning: 'it ends before the range that was asked for' },

  AuthenticationFailed: wrongKey,
  InvalidAuthenticationInfo: wrongKey,
  NoAuthenticationInformation: wrongKey,
  AuthorizationFailure: {
    ...denied,
    help: `${role} The firewall of the account has the same effect.`,
  },
  AuthorizationPermissionMismatch: { ...denied, meaning: 'the credentials do not have the permission for it' },
  InsufficientAccountPermissions: { ...denied, meaning: 'the credentials do not have the permission for it' },
  UnauthorizedBlobOverwrite: { ...denied, meaning: 'the credentials may not replace what is there', isTaken: true },
  AuthorizationResourceTypeMismatch: { ...denied, meaning: 'the SAS token is not for objects' },
  AuthorizationServiceMismatch: { ...denied, meaning: 'the SAS token is not for blobs' },
  AuthorizationSourceIPMismatch: { ...denied, meaning: 'the SAS token is not for this address' },
  AuthorizationProtocolMismatch: { ...denied, meaning: 'the SAS token is for https only' },
  KeyBasedAuthenticationNotPermitted: {
    ...denied,
    meaning: 'the account takes no keys',
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
    help: 'Snapshots are never removed here; delete those of the blob first.',
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
    meaning: 'the account takes requests over https only',
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

export const proxyLogin: Meaning = {
  code: 'STORAGE_DENIED',
  meaning: 'the proxy wants a login',
  help: 'Give it in `storage.proxy`: `http://user:password@proxy:3128`.',
}

export const statusTable: Record<number, Meaning> = {
  401: wrongKey,
  403: denied,
  404: { code: 'STORAGE_NOT_FOUND', meaning: 'it is not there' },
  405: { code: 'STORAGE_UNFIT', meaning: 'the service does not offer this' },
  408: { code: 'STORAGE_UNAVAILABLE', meaning: 'the service waited too long for the request' },
  409: { code: 'STORAGE_UNAVAILABLE', meaning: 'something else is under way there' },
  412: { code: 'STORAGE_EXISTS', meaning: 'it is there already' },
  416: { code: 'STORAGE_SHORT', meaning: 'it ends before the range that was asked for' },
  429: busy,
  501: { code: 'STORAGE_UNFIT', meaning: 'the service does not offer this' },
}
