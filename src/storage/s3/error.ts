import { KafkaBackupError } from '../../errors.ts'
import { oneLine } from '../../lib/one-line.ts'
import {
  type ErrorMeaning,
  endpointMeaning,
  type FailedRequest,
  foreignAnswer,
  foreignError,
  proxyLogin,
  requestError,
} from '../request-error.ts'

interface S3ErrorContext extends FailedRequest {
  bucket: string
}

/** What S3's error names mean here. Stores of other vendors use the same names and a few more. */
const nameTable: Record<string, ErrorMeaning> = {
  NoSuchKey: { code: 'STORAGE_NOT_FOUND', meaning: 'it does not exist' },
  NotFound: { code: 'STORAGE_NOT_FOUND', meaning: 'it does not exist' },
  NoSuchUpload: { code: 'STORAGE_NOT_FOUND', meaning: 'the store no longer knows the upload' },
  InvalidPart: { code: 'STORAGE_NOT_FOUND', meaning: 'the store no longer has a part of the upload' },
  NoSuchBucket: {
    code: 'STORAGE_NOT_FOUND',
    meaning: 'the bucket does not exist',
    help: 'Create the bucket, or correct its name, region or endpoint.',
  },
  PreconditionFailed: { code: 'STORAGE_EXISTS', meaning: 'it already exists' },
  InvalidRange: { code: 'STORAGE_SHORT', meaning: 'it ends before the requested range' },

  AccessDenied: {
    code: 'STORAGE_DENIED',
    meaning: 'access denied',
    help: 'Grant what docs/s3.md lists under the minimum policy; with `aws:kms` the key needs grants too.',
  },
  AllAccessDisabled: { code: 'STORAGE_DENIED', meaning: 'all access to it is disabled' },
  InvalidAccessKeyId: {
    code: 'STORAGE_DENIED',
    meaning: 'the store does not know the access key',
    help: 'Check the access key id, and that it belongs to this endpoint.',
  },
  XAdminUserNotFound: { code: 'STORAGE_DENIED', meaning: 'the store does not know the access key' },
  SignatureDoesNotMatch: {
    code: 'STORAGE_DENIED',
    meaning: 'the signature is wrong',
    help: 'Check the secret access key. A proxy that changes host or headers has the same effect.',
  },
  ExpiredToken: {
    code: 'STORAGE_DENIED',
    meaning: 'the credentials have expired',
    help: 'Get new ones; roles of the platform (docs/s3.md) renew theirs by themselves.',
  },
  InvalidToken: { code: 'STORAGE_DENIED', meaning: 'the session token is not valid' },
  CredentialsProviderError: {
    code: 'STORAGE_DENIED',
    meaning: 'there are no credentials',
    help: 'Set `storage.access_key_id` and `storage.secret_access_key`, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or a role.',
  },
  TokenProviderError: { code: 'STORAGE_DENIED', meaning: 'there is no valid login; log in again' },
  InvalidObjectState: {
    code: 'STORAGE_DENIED',
    meaning: 'it is in an archive storage class',
    help: 'Restore the object to an online storage class first.',
  },

  QuotaExceeded: { code: 'STORAGE_FULL', meaning: 'the quota is used up' },
  InsufficientStorage: { code: 'STORAGE_FULL', meaning: 'no space is left' },
  XMinioStorageFull: { code: 'STORAGE_FULL', meaning: 'no space is left' },

  InvalidBucketName: { code: 'LOCATION_INVALID', meaning: 'this is not the name of a bucket' },
  KeyTooLongError: { code: 'LOCATION_INVALID', meaning: 'the key is too long', help: 'Choose a shorter prefix.' },
  NotImplemented: { code: 'STORAGE_UNFIT', meaning: 'the store does not offer this' },

  // The SDK learns the clock difference from this error and signs the next attempt with the store's time.
  RequestTimeTooSkewed: { code: 'STORAGE_UNAVAILABLE', meaning: 'the clock of this machine differs from the store’s' },
  ConditionalRequestConflict: { code: 'STORAGE_UNAVAILABLE', meaning: 'another client is writing the same key' },
  SlowDown: { code: 'STORAGE_UNAVAILABLE', meaning: 'the store is throttling requests' },
  RequestTimeout: { code: 'STORAGE_UNAVAILABLE', meaning: 'the store waited too long for the request' },
  BadDigest: { code: 'STORAGE_UNAVAILABLE', meaning: 'the bytes were corrupted in transit' },
  IncompleteBody: { code: 'STORAGE_UNAVAILABLE', meaning: 'the bytes did not arrive' },
  XAmzContentSHA256Mismatch: { code: 'STORAGE_UNAVAILABLE', meaning: 'the bytes were corrupted in transit' },
  TimeoutError: { code: 'STORAGE_UNAVAILABLE', meaning: 'no response in time' },
}

const retained: ErrorMeaning = { code: 'STORAGE_RETAINED', meaning: 'the store still protects it from removal' }

const statusTable: Record<number, ErrorMeaning> = {
  401: { code: 'STORAGE_DENIED', meaning: 'access denied' },
  403: { ...nameTable.AccessDenied, code: 'STORAGE_DENIED', meaning: 'access denied' },
  404: { code: 'STORAGE_NOT_FOUND', meaning: 'it does not exist' },
  405: { code: 'STORAGE_UNFIT', meaning: 'the store does not offer this' },
  407: proxyLogin,
  408: { code: 'STORAGE_UNAVAILABLE', meaning: 'the store waited too long for the request' },
  409: { code: 'STORAGE_UNAVAILABLE', meaning: 'another operation on it is in progress' },
  412: { code: 'STORAGE_EXISTS', meaning: 'it already exists' },
  416: { code: 'STORAGE_SHORT', meaning: 'it ends before the requested range' },
  429: { code: 'STORAGE_UNAVAILABLE', meaning: 'the store is throttling requests' },
  501: { code: 'STORAGE_UNFIT', meaning: 'the store does not offer this' },
  507: { code: 'STORAGE_FULL', meaning: 'no space is left' },
}

/** Classifies the error of a request. Errors that come from neither the store nor the network are returned unchanged. */
export function mapS3Error(error: unknown, context: S3ErrorContext): unknown {
  if (!(error instanceof Error) || error instanceof KafkaBackupError) return error
  const foreign = foreignError(error, context)
  if (foreign !== undefined) return foreign
  const facts = readFacts(error)
  const found = findMeaning(facts)
  if (found === undefined) return error
  const reported =
    facts.status === undefined ? facts.errno : `${facts.name} ${facts.status}`.replace(/^Unknown\w* /, '')
  const { bucket, location } = context
  const where = facts.name === 'NoSuchBucket' ? `${JSON.stringify(bucket)} of ${location}` : location
  return requestError(error, { ...context, location: where }, found, reported ?? facts.name, textOf(facts))
}

interface Facts {
  /** The message of the store or the SDK. */
  text: string
  name: string
  status: number | undefined
  /** Of the system, of OpenSSL or of the HTTP parser. */
  errno: string | undefined
  isProxyLogin: boolean
  region: string | undefined
  /** It has a header that only S3 gives: a redirect without a name is otherwise that of a portal or a proxy. */
  isOfS3: boolean
  /** Object lock: S3 denies access with this text and has no error name for it; MinIO uses other text. */
  isLocked: boolean
}

/** The SDK puts the store's name of the error in `name`; for a response without a body it makes one up. */
function readFacts(error: Error): Facts {
  const { $metadata, $response, code, Region, statusCode } = error as Error & {
    $metadata?: { httpStatusCode?: number }
    $response?: { statusCode?: number; headers?: Record<string, string> }
    code?: unknown
    Region?: unknown
    /** Of a proxy that refuses a tunnel. */
    statusCode?: unknown
  }
  const text = oneLine(error.message)
  const status = $metadata?.httpStatusCode ?? $response?.statusCode
  const header = $response?.headers?.['x-amz-bucket-region']
  return {
    name: error.name,
    status: status !== undefined && status > 0 ? status : undefined,
    errno: typeof code === 'string' && status === undefined ? code : undefined,
    isProxyLogin: code === 'ERR_PROXY_TUNNEL' && statusCode === 407,
    isOfS3: hasOwnHeader($response?.headers),
    region: header ?? (typeof Region === 'string' ? Region : undefined),
    isLocked: error.name === 'ObjectLocked' || /protected by object lock|WORM protected/i.test(text),
    text,
  }
}

/** Whether a response has a header of S3, such as `x-amz-request-id`. Some servers of other vendors give none. */
export function hasOwnHeader(headers: Readonly<Record<string, unknown>> = {}): boolean {
  return Object.keys(headers).some(name => name.toLowerCase().startsWith('x-amz-'))
}

/** Whether the error is that of a response with such a header. */
export function isOfS3(error: unknown): boolean {
  return error instanceof Error && readFacts(error).isOfS3
}

function findMeaning(facts: Facts): ErrorMeaning | undefined {
  const { name, status, errno } = facts
  if (isElsewhere(facts)) return elsewhere(facts)
  if (facts.isProxyLogin) return proxyLogin
  if (facts.isLocked && status !== undefined) return retained
  // The SDK calls a broken connection a timeout, too.
  if (errno !== undefined && errno !== 'ETIMEDOUT') return findNetworkMeaning(errno)
  const named = Object.hasOwn(nameTable, name) ? nameTable[name] : undefined
  if (named !== undefined) return named
  if (status !== undefined) {
    if (statusTable[status] !== undefined) return statusTable[status]
    if (status >= 500) return { code: 'STORAGE_UNAVAILABLE', meaning: 'the store failed' }
    return status < 400 ? foreignAnswer : { code: 'STORAGE_REFUSED', meaning: 'the store refused it' }
  }
  return undefined
}

function isElsewhere({ name, status, isOfS3 }: Facts): boolean {
  const names = ['PermanentRedirect', 'TemporaryRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraint']
  return names.some(each => name.startsWith(each)) || ((status === 301 || status === 307) && isOfS3)
}

function elsewhere({ region }: Facts): ErrorMeaning {
  return {
    code: 'LOCATION_INVALID',
    meaning: region === undefined ? 'the bucket is in another region' : `the bucket is in the region ${region}`,
    help: `Set \`storage.region\`${region === undefined ? ' to the region of the bucket' : `: ${region}`} (AWS_REGION, or \`?region=\` of a location).`,
  }
}

function findNetworkMeaning(errno: string): ErrorMeaning {
  return endpointMeaning(errno) ?? { code: 'STORAGE_UNAVAILABLE', meaning: 'the connection failed' }
}

/** The message, unless the SDK made it up because the store sent none. */
function textOf({ name, text }: Facts): string {
  return text === name || /^(Unknown|@smithy)/.test(text) ? '' : text
}
