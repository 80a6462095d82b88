import { type ErrorCode, KafkaBackupError } from '../../errors.ts'
import { oneLine } from '../../lib/one-line.ts'

interface Meaning {
  code: ErrorCode
  meaning: string
  help?: string
}

export interface GcsErrorContext {
  /** What was tried, to follow "cannot": `read`, `create`. */
  action: string
  key: string
  bucket: string
  location: string
  /** What a 404 says is missing. */
  missing: 'object' | 'bucket' | 'upload'
}

/** An answer that is not the one that was hoped for. */
export class GcsRefusal extends Error {
  readonly status: number
  /** Google's own name of it; '' where the answer has none. */
  readonly reason: string

  constructor(status: number, reason: string, message: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

const denied: Meaning = {
  code: 'STORAGE_DENIED',
  meaning: 'access denied',
  help: 'Grant the role that docs/gcs.md lists; with a KMS key the service agent of Cloud Storage needs one too.',
}

const noLogin: Meaning = {
  code: 'STORAGE_DENIED',
  meaning: 'the credentials are not accepted',
  help: 'Check `storage.key_file` or the application default credentials; keys that were deleted or disabled do that, too.',
}

const busy: Meaning = { code: 'STORAGE_UNAVAILABLE', meaning: 'the store asks for fewer requests' }

const payer = 'Set `storage.user_project` to a project that pays for the requests and that this account may use.'

const keyHelp = 'Check `storage.kms_key_name` or the default key of the bucket, and who may use it.'

/** What the reasons that Cloud Storage gives mean here. docs/gcs.md has the same table. */
const reasonTable: Record<string, Meaning> = {
  conditionNotMet: { code: 'STORAGE_EXISTS', meaning: 'it is there already' },
  requestedRangeNotSatisfiable: { code: 'STORAGE_SHORT', meaning: 'it ends before the range that was asked for' },
  retentionPolicyNotMet: { code: 'STORAGE_RETAINED', meaning: 'the retention policy keeps it for some time yet' },
  objectUnderActiveHold: { code: 'STORAGE_RETAINED', meaning: 'a hold keeps it' },

  required: noLogin,
  authError: noLogin,
  forbidden: denied,
  insufficientPermissions: denied,
  accountDisabled: {
    code: 'STORAGE_DENIED',
    meaning: 'the project is disabled',
    help: 'See to the billing account of the project that owns the bucket.',
  },
  userProjectAccessDenied: {
    code: 'STORAGE_DENIED',
    meaning: 'this account may not use the paying project',
    help: payer,
  },
  userProjectAccountProblem: {
    code: 'STORAGE_DENIED',
    meaning: 'the paying project cannot pay',
    help: 'See to the billing account of `storage.user_project`.',
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
  cloudKmsEncryptionKeyNotFound: { code: 'STORAGE_DENIED', meaning: 'there is no such KMS key', help: keyHelp },
  cloudKmsDecryptionKeyNotFound: { code: 'STORAGE_DENIED', meaning: 'its KMS key is gone', help: keyHelp },
  cloudKmsKeyLocationNotAllowed: {
    code: 'STORAGE_DENIED',
    meaning: 'the KMS key is in another location',
    help: keyHelp,
  },

  userProjectMissing: { code: 'LOCATION_INVALID', meaning: 'the bucket is a requester-pays bucket', help: payer },
  userProjectInvalid: { code: 'LOCATION_INVALID', meaning: 'there is no such paying project', help: payer },
  sslRequired: { code: 'LOCATION_INVALID', meaning: 'only https is served', help: 'Give the endpoint as `https://`.' },

  rateLimitExceeded: busy,
  userRateLimitExceeded: busy,
  quotaExceeded: busy,
  uploadBrokenConnection: { code: 'STORAGE_UNAVAILABLE', meaning: 'the bytes did not arrive' },
}

const statusTable: Record<number, Meaning> = {
  401: noLogin,
  403: denied,
  405: { code: 'STORAGE_UNFIT', meaning: 'the store does not offer this' },
  407: {
    code: 'STORAGE_DENIED',
    meaning: 'the proxy wants a login',
    help: 'Give it in `storage.proxy`: `http://user:password@proxy:3128`.',
  },
  408: { code: 'STORAGE_UNAVAILABLE', meaning: 'the store waited too long for the request' },
  409: { code: 'STORAGE_UNAVAILABLE', meaning: 'something else is under way there' },
  412: { code: 'STORAGE_EXISTS', meaning: 'it is there already' },
  416: { code: 'STORAGE_SHORT', meaning: 'it ends before the range that was asked for' },
  429: busy,
  501: { code: 'STORAGE_UNFIT', meaning: 'the store does not offer this' },
  507: { code: 'STORAGE_FULL', meaning: 'no space is left' },
}

const missingTable: Record<GcsErrorContext['missing'], Meaning> = {
  object: { code: 'STORAGE_NOT_FOUND', meaning: 'it is not there' },
  upload: { code: 'STORAGE_NOT_FOUND', meaning: 'the store no longer knows the upload' },
  bucket: {
    code: 'STORAGE_NOT_FOUND',
    meaning: 'the bucket does not exist',
    help: 'Create the bucket, or correct its name or the endpoint.',
  },
}

/** The error of a request as one of the table; what is no error of a store or its network is returned as it is. */
export function mapGcsError(error: unknown, context: GcsErrorContext): unknown {
  if (!(error instanceof Error) || error instanceof KafkaBackupError) return error
  const found = error instanceof GcsRefusal ? meaningOf(error, context) : networkMeaning(error)
  if (found === undefined) return error
  const { bucket, location, key, action } = context
  const said = error instanceof GcsRefusal ? `${error.reason} ${error.status}`.trim() : codeOf(error)
  const what = key === '' ? '' : ` ${JSON.stringify(key)}`
  const where = found === missingTable.bucket ? `${JSON.stringify(bucket)} of ${location}` : location
  const message = `cannot ${action}${what} in ${where}: ${found.meaning} (${said})${quote(error.message)}`
  return new KafkaBackupError(found.code, message, {
    cause: error,
    ...(found.help !== undefined && { help: found.help }),
  })
}

function meaningOf({ status, reason }: GcsRefusal, { missing }: GcsErrorContext): Meaning {
  const named = Object.hasOwn(reasonTable, reason) ? reasonTable[reason] : undefined
  if (named !== undefined) return named
  // Sessions of uploads are gone; objects never are.
  if (status === 404 || status === 410) return missingTable[missing]
  const known = statusTable[status]
  if (known !== undefined) return known
  if (status >= 500) return { code: 'STORAGE_UNAVAILABLE', meaning: 'the store failed' }
  const meaning = status < 400 ? 'the answer is not one of Cloud Storage' : 'the store refused it'
  return { code: 'STORAGE_REFUSED', meaning }
}

/** Also for the services that give out tokens. */
export function networkMeaning(error: Error): Meaning | undefined {
  const errno = codeOf(error)
  if (errno === undefined) return undefined
  const { statusCode } = error as Error & { statusCode?: unknown }
  if (errno === 'ERR_PROXY_TUNNEL' && statusCode === 407) return statusTable[407]
  if (/^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA)/.test(errno)) {
    return {
      code: 'LOCATION_INVALID',
      meaning: 'the certificate of the endpoint is not trusted',
      help: 'Name the CA of a private endpoint in `storage.ca_cert`; certificates are always checked.',
    }
  }
  if (/^(EPROTO|ERR_SSL_|HPE_)/.test(errno)) {
    return {
      code: 'LOCATION_INVALID',
      meaning: 'the endpoint speaks another protocol',
      help: 'Check scheme and port of the endpoint: `https://`, or `http://` for an emulator without TLS.',
    }
  }
  const meaning = errno === 'ETIMEDOUT' ? 'no answer came in time' : 'the connection failed'
  return { code: 'STORAGE_UNAVAILABLE', meaning }
}

/** Of the system, of OpenSSL or of the HTTP parser. */
function codeOf(error: Error): string | undefined {
  const { code } = error as Error & { code?: unknown }
  return typeof code === 'string' ? code : undefined
}

/** What the store or the system adds to its refusal, on one line. */
function quote(message: string): string {
  const text = oneLine(message)
  return text === '' ? '' : `: ${text}`
}
