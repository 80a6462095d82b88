/** How an S3 bucket is reached and written to. What is left out has the default of `s3Defaults` or of the AWS environment. */
export interface S3Options {
  bucket: string
  /** All keys are below it. */
  prefix?: string
  region?: string
  /** Without one it is AWS, or what AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL name. */
  endpoint?: string
  /** The bucket stands in the path, not in the host name. Where it is not given: at every endpoint but AWS's own. */
  pathStyle?: boolean
  accessKeyId?: string
  secretAccessKey?: string
  sessionToken?: string
  /** A file of CA certificates that are trusted instead of the public ones. */
  caCert?: string
  proxy?: string
  sse?: S3Encryption
  sseKmsKeyId?: string
  sseBucketKey?: boolean
  checksum?: S3Checksum
  /** Whether the signature covers the body. Where it is not given: over http only, since TLS protects it otherwise. */
  signPayload?: boolean
  partSizeBytes?: number
  /** Parts on their way at the same time; each holds its memory until it has arrived. */
  uploads?: number
  connectTimeoutMs?: number
  /** How long a connection may be silent while an answer is due. */
  idleTimeoutMs?: number
}

export type S3Encryption = 'none' | 'AES256' | 'aws:kms' | 'aws:kms:dsse'
export type S3Checksum = 'crc32c' | 'crc32' | 'sha256' | 'md5' | 'none'

const MiB = 2 ** 20

export const s3Defaults = {
  checksum: 'crc32c',
  /** The least that S3 takes: what one open segment holds in memory. 10,000 parts make 48 GiB. */
  partSizeBytes: 5 * MiB,
  uploads: 4,
  connectTimeoutMs: 10_000,
  idleTimeoutMs: 60_000,
} as const

export type S3Environment = Readonly<Record<string, string | undefined>>

/** The options with what the AWS environment says of region and endpoint; what was given comes first. */
export function resolveS3Options(options: S3Options, env: S3Environment = process.env): S3Options {
  const endpoint = options.endpoint ?? (env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || undefined)
  // Other stores have no regions, or take any; the signature needs one.
  const region =
    options.region ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION || (endpoint === undefined ? undefined : 'us-east-1'))
  return {
    ...options,
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    pathStyle: options.pathStyle ?? endpoint !== undefined,
  }
}
