import { type ErrorCode, KafkaBackupError } from '../../errors.ts'
import { oneLine } from '../../lib/one-line.ts'

interface Meaning {
  code: ErrorCode
  meaning: string
  help?: string
}

export interface S3ErrorContext {
  /** What was tried, to follow "cannot": `read`, `create`. */
  action: string
  key: string
  bucket: string
  location: string
}

/** What the names that S3 gives its errors mean here. Stores of other makers use the same names, and a few of their own. */
const nameTable: Record<string, Meaning> = {
  NoSuchKey: { code: 'STORAGE_NOT_FOUND', meaning: 'it is not there' },
  NotFound: { code: 'STORAGE_NOT_FOUND', meaning: 'it is not there' },
  NoSuchUpload: { code: 'STORAGE_NOT_FOUND', meaning: 'the store no longer knows the upload' },
  NoSuchBucket: {
    code: 'STORAGE_NOT_FOUND',
    meaning: 'the bucket does not exist',
    help: 'Create the bucket, or correct its name, region or endpoint.',
  },
  PreconditionFailed: { code: 'STORAGE_EXISTS', meaning: 'it is there already' },
  InvalidRange: { code: 'STORAGE_SHORT', meaning: 'it ends before the range that was asked for' },

  AccessDenied: {
    code: 'STORAGE_DENIED',
    meaning: 'access denied',
    help: 'Grant what docs/s3.md lists under the least policy; with `aws:kms` the key needs grants too.',
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
    meaning: 'it lies in an archive class',
    help: 'Restore the object from its archive storage class first.',
  },

  QuotaExceeded: { code: 'STORAGE_FULL', meaning: 'the quota is used up' },
  InsufficientStorage: { code: 'STORAGE_FULL', meaning: 'no space is left' },
  XMinioStorageFull: { code: 'STORAGE_FULL', meaning: 'no space is left' },

  InvalidBucketName: { code: 'LOCATION_INVALID', meaning: 'this is not the name of a bucket' },
  KeyTooLongError: { code: 'LOCATION_INVALID', meaning: 'the key is too long', help: 'Choose a shorter prefix.' },
  NotImplemented: { code: 'STORAGE_UNFIT', meaning: 'the store does not offer this' },

  // The SDK learns the difference of the clocks from the refusal, so the next try is signed with the store's time.
  RequestTimeTooSkewed: { code: 'STORAGE_UNAVAILABLE', meaning: 'the clock of this machine differs from the store’s' },
  ConditionalRequestConflict: { code: 'STORAGE_UNAVAILABLE', meaning: 'another writes the same key right now' },
  SlowDown: { code: 'STORAGE_UNAVAILABLE', meaning: 'the store asks for fewer requests' },
  RequestTimeout: { code: 'STORAGE_UNAVAILABLE', meaning: 'the store waited too long for the request' },
  BadDigest: { code: 'STORAGE_UNAVAILABLE', meaning: 'the bytes were damaged on the way' },
  IncompleteBody: { code: 'STORAGE_UNAVAILABLE', meaning: 'the bytes did not arrive' },
  XAmzContentSHA256Mismatch: { code: 'STORAGE_UNAVAILABLE', meaning: 'the bytes were damaged on the way' },
  TimeoutError: { code: 'STORAGE_UNAVAILABLE', meaning: 'no answer came in time' },
}

const proxyLogin: Meaning = {
  code: 'STORAGE_DENIED',
  meaning: 'the proxy wants a login',
  help: 'Give it in `storage.proxy`: `http://user:password@proxy:3128`.',
}

const retained: Meaning = { code: 'STORAGE_RETAINED', meaning: 'the store protects it for some time yet' }

const statusTable: Record<number, Meaning> = {
  401: { code: 'STORAGE_DENIED', meaning: 'access denied' },
  403: { ...nameTable.AccessDenied, code: 'STORAGE_DENIED', meaning: 'access denied' },
  404: { code: 'STORAGE_NOT_FOUND', meaning: 'it is not there' },
  405: { code: 'STORAGE_UNFIT', meaning: 'the store does not offer this' },
  407: proxyLogin,
  408: { code: 'STORAGE_UNAVAILABLE', meaning: 'the store waited too long for the request' },
  409: { code: 'STORAGE_UNAVAILABLE', meaning: 'something else is under way there' },
  412: { code: 'STORAGE_EXISTS', meaning: 'it is there already' },
  416: { code: 'STORAGE_SHORT', meaning: 'it ends before the range that was asked for' },
  429: { code: 'STORAGE_UNAVAILABLE', meaning: 'the store asks for fewer requests' },
  501: { code: 'STORAGE_UNFIT', meaning: 'the store does not offer this' },
  507: { code: 'STORAGE_FULL', meaning: 'no space is left' },
}

/** The error of a request as one of the table; what is no error of a store or its network is returned as it is. */
export function mapS3Error(error: unknown, context: S3ErrorContext): unknown {
  if (!(error instanceof Error) || error instanceof KafkaBackupError) return error
  const facts = readFacts(error)
  const found = findMeaning(facts)
  if (found === undefined) return error
  const said = facts.status === undefined ? facts.errno : `${facts.name} ${facts.status}`.replace(/^Unknown\w* /, '')
  const what = context.key === '' ? '' : ` ${JSON.stringify(context.key)}`
  const where = facts.name === 'NoSuchBucket' ? `${JSON.stringify(context.bucket)} of ${context.location}` : undefined
  const message = `cannot ${context.action}${what} in ${where ?? context.location}: ${found.meaning}`
  return new KafkaBackupError(found.code, `${message} (${said ?? facts.name})${quote(facts)}`, {
    cause: error,
    ...(found.help !== undefined && { help: found.help }),
  })
}

interface Facts {
  /** What the store or the SDK wrote. */
  text: string
  name: string
  status: number | undefined
  /** Of the system, of OpenSSL or of the HTTP parser. */
  errno: string | undefined
  isProxyLogin: boolean
  region: string | undefined
  /** Object lock: S3 has no name of its own for it, and denies access with these words; MinIO refuses with others. */
  isLocked: boolean
}

/** The SDK puts the store's own name of the error in `name`; for an answer without a body it makes one up. */
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
    region: header ?? (typeof Region === 'string' ? Region : undefined),
    // Most stores have no code of their own for it.
    isLocked: error.name === 'ObjectLocked' || /protected by object lock|WORM protected/i.test(text),
    text,
  }
}

function findMeaning(facts: Facts): Meaning | undefined {
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
    return { code: 'STORAGE_REFUSED', meaning: status < 300 ? 'the answer is not one of S3' : 'the store refused it' }
  }
  return undefined
}

function isElsewhere({ name, status }: Facts): boolean {
  const names = ['PermanentRedirect', 'TemporaryRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraint']
  return names.some(each => name.startsWith(each)) || status === 301 || status === 307
}

function elsewhere({ region }: Facts): Meaning {
  return {
    code: 'LOCATION_INVALID',
    meaning: region === undefined ? 'the bucket is in another region' : `the bucket is in the region ${region}`,
    help: `Set \`storage.region\`${region === undefined ? ' to the region of the bucket' : `: ${region}`} (AWS_REGION, or \`?region=\` of a location).`,
  }
}

function findNetworkMeaning(errno: string): Meaning {
  if (/^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA)/.test(errno)) {
    return {
      code: 'LOCATION_INVALID',
      meaning: 'the certificate of the endpoint is not trusted',
      help: 'Name the CA of a private store in `storage.ca_cert`; certificates are always checked.',
    }
  }
  if (/^(EPROTO|ERR_SSL_|HPE_)/.test(errno)) {
    return {
      code: 'LOCATION_INVALID',
      meaning: 'the endpoint speaks another protocol',
      help: 'Check scheme and port of the endpoint: `https://`, or `http://` for one without TLS.',
    }
  }
  return { code: 'STORAGE_UNAVAILABLE', meaning: 'the connection failed' }
}

/** What the store or the system adds to its refusal, on one line. */
function quote({ name, text }: Facts): string {
  // What the SDK makes up where the store said nothing.
  if (text === '' || text === name || /^(Unknown|@smithy)/.test(text)) return ''
  return `: ${text}`
}
