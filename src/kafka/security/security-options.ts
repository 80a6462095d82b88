import type { Endpoint } from '../wire/endpoint.ts'

/** How one cluster is talked to: what a job says is used, and nothing weaker. */
export interface SecurityOptions {
  protocol: SecurityProtocol
  /** For SSL and SASL_SSL. */
  tls?: TlsFiles
  /** For SASL_PLAINTEXT and SASL_SSL. */
  sasl?: SaslOptions
}

type SecurityProtocol = 'PLAINTEXT' | 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL'

/** Paths of PEM files. Without a CA the authorities that Node.js knows are trusted. */
export interface TlsFiles {
  caCert?: string
  clientCert?: string
  clientKey?: string
  clientKeyPassword?: string
}

export type SaslOptions = PasswordLogin | OAuthLogin | MskIamLogin

/** The password itself, or the file that holds it, which is read at each login. */
export interface PasswordLogin {
  mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  username: string
  password?: string
  passwordFile?: string
}

interface OAuthLogin {
  mechanism: 'OAUTHBEARER'
  oauth: OAuthOptions
}

/** The client credentials grant of RFC 6749. */
export interface OAuthOptions {
  tokenUrl: string
  clientId: string
  clientSecret?: string
  clientSecretFile?: string
  /** Where the token endpoint expects id and secret: the Authorization header or the form. */
  clientAuth: 'basic' | 'post'
  scope?: string
  audience?: string
  /** Sent to the broker together with the token. */
  extensions?: Record<string, string>
  /** Of the token endpoint. */
  caCert?: string
}

export interface MskIamLogin {
  mechanism: 'AWS_MSK_IAM'
  aws?: { region?: string; profile?: string }
}

export function usesTls({ protocol }: SecurityOptions): boolean {
  return protocol === 'SSL' || protocol === 'SASL_SSL'
}

/** One way to log in. */
export interface SaslMechanism {
  /** As brokers list it. */
  readonly name: string
  /** Who logs in, for messages. */
  readonly identity: string
  /**
   * A new conversation: yields what is sent and is given what the broker answers to it. It returns when the login is
   * complete on this side, and throws where the broker does not prove who it is.
   */
  converse(endpoint: Endpoint, signal: AbortSignal): AsyncGenerator<Buffer, void, Buffer>
}
