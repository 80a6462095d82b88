import { GCS_BUCKET_PATTERN } from '../../lib/name-patterns.ts'
import {
  type AddressKind,
  endpointIn,
  formatAddress,
  formatFileSetting,
  invalidAddress,
  parseAddress,
  parseEndpoint,
  parseFlag,
} from '../bucket/address.ts'
import { type BucketOptions, bucketDefaults, type Environment } from '../bucket/agents.ts'

/** How to reach and write to a bucket of Google Cloud Storage. Defaults come from `gcsDefaults`. */
export interface GcsOptions extends BucketOptions {
  bucket: string
  /** All keys are below it. */
  prefix?: string
  /** Default: STORAGE_EMULATOR_HOST, or Google itself. */
  endpoint?: string
  /** Of a Google cloud that another company operates. */
  universeDomain?: string
  /** A JSON file of credentials. Default: the application default credentials. */
  keyFile?: string
  /** Send no credentials. Only emulators accept that, so it needs an endpoint. */
  anonymous?: boolean
  /** The project that pays for the requests. */
  userProject?: string
  /** `projects/…/locations/…/keyRings/…/cryptoKeys/…`. Default: the key of the bucket. */
  kmsKeyName?: string
}

export const publicUniverse = 'googleapis.com'

export const gcsDefaults = {
  ...bucketDefaults,
} as const

/** Adds the emulator of the environment if the options have no endpoint. */
export function resolveGcsOptions(options: GcsOptions, env: Environment = process.env): GcsOptions {
  if (options.endpoint !== undefined) return options
  const emulator = endpointIn(env, ['STORAGE_EMULATOR_HOST'], address)
  if (emulator === undefined) return options
  const endpoint = /^https?:\/\//i.test(emulator) ? emulator : `http://${emulator}`
  return { anonymous: true, ...options, endpoint: endpoint.replace(/\/+$/, '') }
}

export function endpointOf({ endpoint, universeDomain = publicUniverse }: GcsOptions): string {
  return endpoint ?? `https://storage.${universeDomain}`
}

const address: AddressKind = {
  scheme: 'gs',
  noun: 'bucket',
  isName: text => new RegExp(GCS_BUCKET_PATTERN).test(text) && !text.includes('..'),
  settings: ['endpoint', 'anonymous', 'universe_domain', 'user_project', 'ca_cert'],
  credentials: 'Set GOOGLE_APPLICATION_CREDENTIALS, or use a job file.',
  help: 'Write `gs://bucket/prefix`, with `?endpoint=https://…`, `anonymous=`, `user_project=` or `ca_cert=`.',
}

/** `gs://bucket/prefix?endpoint=…`. All other options come from the environment or need a job file. */
export function parseGcsLocation(text: string): GcsOptions {
  const { name: bucket, prefix, settings } = parseAddress(text, address)
  const [endpoint, anonymous] = [settings.get('endpoint'), settings.get('anonymous')]
  const [universeDomain, userProject] = [settings.get('universe_domain'), settings.get('user_project')]
  const caCert = settings.get('ca_cert')
  return {
    bucket,
    ...(prefix !== '' && { prefix }),
    ...(endpoint !== undefined && { endpoint: parseGcsEndpoint(endpoint) }),
    ...(anonymous !== undefined && { anonymous: parseFlag('anonymous', anonymous, address) }),
    ...(universeDomain !== undefined && { universeDomain }),
    ...(userProject !== undefined && { userProject }),
    ...(caCert !== undefined && { caCert }),
  }
}

/** The text that `parseGcsLocation` reads back. */
export function formatGcsLocation(options: GcsOptions): string {
  const { bucket, prefix, endpoint, anonymous, universeDomain, userProject, caCert } = options
  return formatAddress(
    address,
    { name: bucket, prefix },
    {
      endpoint,
      anonymous: anonymous ? 'true' : undefined,
      universe_domain: universeDomain,
      user_project: userProject && encodeURIComponent(userProject),
      ca_cert: formatFileSetting(caCert),
    },
  )
}

function parseGcsEndpoint(text: string): string {
  const endpoint = parseEndpoint(text, address)
  const { pathname, search, hash } = new URL(endpoint)
  if (pathname === '/' && search === '' && hash === '') return endpoint
  throw invalidAddress(address, 'has an `endpoint` with a path')
}
