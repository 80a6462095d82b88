import { KafkaBackupError } from '../../errors.ts'
import {
  type ErrorMeaning,
  endpointMeaning,
  type FailedRequest,
  foreignAnswer,
  foreignError,
  proxyLogin,
  requestError,
} from '../request-error.ts'

export interface GcsErrorContext extends FailedRequest {
  bucket: string
  /** What a 404 means is missing. */
  missing: 'object' | 'bucket' | 'upload'
}

/** A response with an unexpected status. */
export class GcsRefusal extends Error {
  readonly status: number
  /** Google's name for it; '' if the response has none. */
  readonly reason: string

  constructor(status: number, reason: string, message: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

const denied: ErrorMeaning = {
  code: 'STORAGE_DENIED',
  meaning: 'access denied',
  help: 'Grant the role that docs/gcs.md lists; with a KMS key the service agent of Cloud Storage needs one too.',
}

const noLogin: ErrorMeaning = {
  code: 'STORAGE_DENIED',
  meaning: 'the credentials are not accepted',
  help: 'Check `storage.key_file` or the application default credentials; a deleted or disabled key has the same effect.',
}

const busy: ErrorMeaning = { code: 'STORAGE_UNAVAILABLE', meaning: 'the store is throttling requests' }

const payer = 'Set `storage.user_project` to a project that pays for the requests and that this account may use.'

const keyHelp = 'Check `storage.kms_key_name` or the default key of the bucket, and who may use it.'

/** What the error reasons of Cloud Storage mean here. docs/gcs.md has the same table. */
const reasonTable: Record<string, ErrorMeaning> = {
  conditionNotMet: { code: 'STORAGE_EXISTS', meaning: 'it already exists' },
  requestedRangeNotSatisfiable: { code: 'STORAGE_SHORT', meaning: 'it ends before the requested range' },
  retentionPolicyNotMet: { code: 'STORAGE_RETAINED', meaning: 'the retention policy still protects it' },
  objectUnderActiveHold: { code: 'STORAGE_RETAINED', meaning: 'a hold protects it' },

  required: noLogin,
  authError: noLogin,
  forbidden: denied,
  insufficientPermissions: denied,
  accountDisabled: {
    code: 'STORAGE_DENIED',
    meaning: 'the project is disabled',
    help: 'Check the billing account of the project that owns the bucket.',
  },
  userProjectAccessDenied: {
    code: 'STORAGE_DENIED',
    meaning: 'this account may not use the paying project',
    help: payer,
  },
  userProjectAccountProblem: {
    code: 'STORAGE_DENIED',
    meaning: 'the paying project cannot pay',
    help: 'Check the billing account of `storage.user_project`.',
  },
  accessNotConfigured: {
    code: 'STORAGE_DENIED',
    meaning: 'the project does not use Cloud Storage',
    help: 'Enable the Cloud Storage API (storage.googleapis.com) in the project of the credentials.',
  },
  orgPolicyConstraintFailed: { code: 'STORAGE_DENIED', meaning: 'a policy of the organization forbids it' },
  countryBlocked: { code: 'STORAGE_DENIED', meaning: 'the country is blocked' },
  cloudKmsBadKey: { code: 'STORAGE_DENIED', meaning: 'the KMS key cannot be used', help: keyHelp },
  cloudKmsDisabledKey: { code: 'STORAGE_DENIED', meaning: 'the KMS key is disabled', help: keyHelp },
  cloudKmsEncryptionKeyNotFound: { code: 'STORAGE_DENIED', meaning: 'the KMS key does not exist', help: keyHelp },
  cloudKmsDecryptionKeyNotFound: { code: 'STORAGE_DENIED', meaning: 'its KMS key no longer exists', help: keyHelp },
  cloudKmsKeyLocationNotAllowed: {
    code: 'STORAGE_DENIED',
    meaning: 'the KMS key is in another location',
    help: keyHelp,
  },

  userProjectMissing: { code: 'LOCATION_INVALID', meaning: 'the bucket is a requester-pays bucket', help: payer },
  userProjectInvalid: { code: 'LOCATION_INVALID', meaning: 'the paying project does not exist', help: payer },
  sslRequired: { code: 'LOCATION_INVALID', meaning: 'only https is served', help: 'Give the endpoint as `https://`.' },

  rateLimitExceeded: busy,
  userRateLimitExceeded: busy,
  quotaExceeded: busy,
  uploadBrokenConnection: { code: 'STORAGE_UNAVAILABLE', meaning: 'the bytes did not arrive' },
}

const statusTable: Record<number, ErrorMeaning> = {
  401: noLogin,
  403: denied,
  405: { code: 'STORAGE_UNFIT', meaning: 'the store does not offer this' },
  407: proxyLogin,
  408: { code: 'STORAGE_UNAVAILABLE', meaning: 'the store waited too long for the request' },
  409: { code: 'STORAGE_UNAVAILABLE', meaning: 'another operation on it is in progress' },
  412: { code: 'STORAGE_EXISTS', meaning: 'it already exists' },
  416: { code: 'STORAGE_SHORT', meaning: 'it ends before the requested range' },
  429: busy,
  501: { code: 'STORAGE_UNFIT', meaning: 'the store does not offer this' },
  507: { code: 'STORAGE_FULL', meaning: 'no space is left' },
}

const missingTable: Record<GcsErrorContext['missing'], ErrorMeaning> = {
  object: { code: 'STORAGE_NOT_FOUND', meaning: 'it does not exist' },
  upload: { code: 'STORAGE_NOT_FOUND', meaning: 'the store no longer knows the upload' },
  bucket: {
    code: 'STORAGE_NOT_FOUND',
    meaning: 'the bucket does not exist',
    help: 'Create the bucket, or correct its name or the endpoint.',
  },
}

/** Classifies the error of a request. Errors that come from neither the store nor the network are returned unchanged. */
export function mapGcsError(error: unknown, context: GcsErrorContext): unknown {
  if (!(error instanceof Error) || error instanceof KafkaBackupError) return error
  const foreign = foreignError(error, context)
  if (foreign !== undefined) return foreign
  const found = error instanceof GcsRefusal ? meaningOf(error, context) : networkMeaning(error)
  if (found === undefined) return error
  const { bucket, location } = context
  const reported = error instanceof GcsRefusal ? `${error.reason} ${error.status}`.trim() : codeOf(error)
  const where = found === missingTable.bucket ? `${JSON.stringify(bucket)} of ${location}` : location
  return requestError(error, { ...context, location: where }, found, reported, error.message)
}

function meaningOf({ status, reason }: GcsRefusal, { missing }: GcsErrorContext): ErrorMeaning {
  const named = Object.hasOwn(reasonTable, reason) ? reasonTable[reason] : undefined
  if (named !== undefined) return named
  // Upload sessions answer 410 when they are gone; objects never do.
  if (status === 404 || status === 410) return missingTable[missing]
  const known = statusTable[status]
  if (known !== undefined) return known
  if (status >= 500) return { code: 'STORAGE_UNAVAILABLE', meaning: 'the store failed' }
  return status < 400 ? foreignAnswer : { code: 'STORAGE_REFUSED', meaning: 'the store refused it' }
}

/** Also for the services that issue tokens. */
export function networkMeaning(error: Error): ErrorMeaning | undefined {
  const errno = codeOf(error)
  if (errno === undefined) return undefined
  const { statusCode } = error as Error & { statusCode?: unknown }
  if (errno === 'ERR_PROXY_TUNNEL' && statusCode === 407) return proxyLogin
  const meaning = errno === 'ETIMEDOUT' ? 'no response in time' : 'the connection failed'
  return endpointMeaning(errno) ?? { code: 'STORAGE_UNAVAILABLE', meaning }
}

/** Of the system, of OpenSSL or of the HTTP parser. */
function codeOf(error: Error): string | undefined {
  const { code } = error as Error & { code?: unknown }
  return typeof code === 'string' ? code : undefined
}
