import { S3_BUCKET_PATTERN } from '../../lib/name-patterns.ts'
import {
  type AddressKind,
  endpointIn,
  formatAddress,
  formatFileSetting,
  parseAddress,
  parseEndpoint,
  parseFlag,
} from '../bucket/address.ts'
import { type BucketOptions, bucketDefaults, type Environment } from '../bucket/agents.ts'

/** How to reach and write to an S3 bucket. Defaults come from `s3Defaults` or the AWS environment. */
export interface S3Options extends BucketOptions {
  bucket: string
  /** All keys are below it. */
  prefix?: string
  region?: string
  /** Default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or AWS itself. */
  endpoint?: string
  /** The bucket is in the path, not in the host name. Default: true for every endpoint but AWS itself. */
  pathStyle?: boolean
  accessKeyId?: string
  secretAccessKey?: string
  sessionToken?: string
  sse?: S3Encryption
  sseKmsKeyId?: string
  sseBucketKey?: boolean
  checksum?: S3Checksum
  /** Whether the signature covers the body. Default: over http only, because TLS protects it otherwise. */
  signPayload?: boolean
}

type S3Encryption = 'none' | 'AES256' | 'aws:kms' | 'aws:kms:dsse'
export type S3Checksum = 'crc32c' | 'crc32' | 'sha256' | 'md5' | 'none'

export const s3Defaults = {
  checksum: 'crc32c',
  ...bucketDefaults,
} as const

/** Adds region and endpoint of the AWS environment where the options have none. */
export function resolveS3Options(options: S3Options, env: Environment = process.env): S3Options {
  const endpoint = options.endpoint ?? endpointIn(env, ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'], address)
  // Other stores have no regions or accept any; the signature needs one.
  const region =
    options.region ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION || (endpoint === undefined ? undefined : 'us-east-1'))
  return {
    ...options,
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    pathStyle: options.pathStyle ?? endpoint !== undefined,
  }
}

const address: AddressKind = {
  scheme: 's3',
  noun: 'bucket',
  isName: text => new RegExp(S3_BUCKET_PATTERN).test(text) && !text.includes('..'),
  settings: ['endpoint', 'region', 'path_style', 'ca_cert'],
  credentials: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a job file.',
  help: 'Write `s3://bucket/prefix`, with `?endpoint=https://…`, `region=`, `path_style=` or `ca_cert=` if needed.',
}

/** `s3://bucket/prefix?endpoint=…`. All other options come from the AWS environment or need a job file. */
export function parseS3Location(text: string): S3Options {
  const { name: bucket, prefix, settings } = parseAddress(text, address)
  const [endpoint, region] = [settings.get('endpoint'), settings.get('region')]
  const [pathStyle, caCert] = [settings.get('path_style'), settings.get('ca_cert')]
  return {
    bucket,
    ...(prefix !== '' && { prefix }),
    ...(endpoint !== undefined && { endpoint: parseEndpoint(endpoint, address) }),
    ...(region !== undefined && { region }),
    ...(pathStyle !== undefined && { pathStyle: parseFlag('path_style', pathStyle, address) }),
    ...(caCert !== undefined && { caCert }),
  }
}

/** The text that `parseS3Location` reads back. For AWS itself, everything else follows from the bucket. */
export function formatS3Location({ bucket, prefix, region, endpoint, pathStyle, caCert }: S3Options): string {
  if (endpoint === undefined) return formatAddress(address, { name: bucket, prefix }, {})
  const otherRegion = region === 'us-east-1' ? undefined : region
  return formatAddress(
    address,
    { name: bucket, prefix },
    {
      endpoint,
      region: otherRegion && encodeURIComponent(otherRegion),
      path_style: pathStyle === false ? 'false' : undefined,
      ca_cert: formatFileSetting(caCert),
    },
  )
}
