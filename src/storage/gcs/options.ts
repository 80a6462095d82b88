/** How a bucket of Google Cloud Storage is reached and written to. What is left out has the default of `gcsDefaults`. */
export interface GcsOptions {
  bucket: string
  /** All keys are below it. */
  prefix?: string
  /** Without one it is Google's own, or what STORAGE_EMULATOR_HOST names. */
  endpoint?: string
  /** Of a cloud of Google's kind that another runs. */
  universeDomain?: string
  /** Credentials as JSON. Without it: the application default credentials. */
  keyFile?: string
  /** No credentials at all. Only emulators take that, so it needs an endpoint. */
  anonymous?: boolean
  /** The project that pays for the requests. */
  userProject?: string
  /** `projects/…/locations/…/keyRings/…/cryptoKeys/…`. Without it the default of the bucket applies. */
  kmsKeyName?: string
  /** A file of CA certificates that are trusted instead of the public ones. */
  caCert?: string
  proxy?: string
  partSizeBytes?: number
  /** Parts on their way at the same time, of all objects; each holds its memory until it has arrived. */
  uploads?: number
  connectTimeoutMs?: number
  /** How long a connection may be silent while an answer is due. */
  idleTimeoutMs?: number
}

const MiB = 2 ** 20

/** What a part of an upload is a multiple of, but for the last. */
export const partUnitBytes = 256 * 1024

export const publicUniverse = 'googleapis.com'

export const gcsDefaults = {
  /** What one open segment holds in memory. */
  partSizeBytes: 5 * MiB,
  uploads: 4,
  connectTimeoutMs: 10_000,
  idleTimeoutMs: 60_000,
} as const

export type GcsEnvironment = Readonly<Record<string, string | undefined>>

/** The options with what the environment says of an emulator; what was given comes first. */
export function resolveGcsOptions(options: GcsOptions, env: GcsEnvironment = process.env): GcsOptions {
  const emulator = env.STORAGE_EMULATOR_HOST
  if (options.endpoint !== undefined || !emulator) return options
  const endpoint = /^https?:\/\//i.test(emulator) ? emulator : `http://${emulator}`
  return { anonymous: true, ...options, endpoint: endpoint.replace(/\/+$/, '') }
}

export function endpointOf({ endpoint, universeDomain = publicUniverse }: GcsOptions): string {
  return endpoint ?? `https://storage.${universeDomain}`
}
