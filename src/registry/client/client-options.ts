/** How a registry is reached. Files are paths of PEM files; values are ready for use, secrets included. */
export interface RegistryOptions {
  /** One registry behind one or more addresses; one that does not answer is passed over. Base paths are kept. */
  urls: readonly string[]
  auth?: RegistryAuth
  tls?: RegistryTls
  /** Of a new connection, TLS included. */
  connectTimeoutMs?: number
  /** Of one exchange, from connecting to the last byte. */
  requestTimeoutMs?: number
  /** Tries in all, each over every address. */
  attempts?: number
  /** Exchanges under way at a time. */
  concurrency?: number
  /** Requests a second; without it, as many as go. */
  rateLimitRps?: number
}

export type RegistryAuth =
  | { type: 'basic'; username: string; password: string }
  | { type: 'mtls' }
  | ({ type: 'oauth' } & OAuthOptions)

/** The client credentials grant; the client shows its secret in the Authorization header. */
export interface OAuthOptions {
  tokenUrl: string
  clientId: string
  clientSecret: string
  scope?: string
}

interface RegistryTls {
  caCert?: string
  clientCert?: string
  clientKey?: string
}

export const defaultAttempts = 4
export const defaultConcurrency = 20

export function timeoutsOf({ connectTimeoutMs = 10_000, requestTimeoutMs = 30_000 }: RegistryOptions): {
  connectMs: number
  requestMs: number
} {
  return { connectMs: connectTimeoutMs, requestMs: requestTimeoutMs }
}
