import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { TlsSettings } from '../wire/socket.ts'
import { mskIam } from './msk-iam.ts'
import { oauthBearer, openOAuthTokens } from './oauthbearer.ts'
import { plain, scram } from './password-login.ts'
import type { SaslMechanism } from './security-options.ts'
import { type SaslOptions, type SecurityOptions, usesTls } from './security-options.ts'
import { TlsContextSource } from './tls-context.ts'

/** How every connection to one cluster is secured. Certificates and tokens are shared by all of them. */
export interface Security {
  /** For people: `SASL_SSL, SCRAM-SHA-512 as alice`. */
  description: string
  /** Undefined for plain text. Certificates that changed are read again. */
  tls(): Promise<TlsSettings | undefined>
  /** Undefined without a login. */
  mechanism: SaslMechanism | undefined
}

interface SecurityParts {
  clock: Clock
  timeoutMs: number
}

export function openSecurity(options: SecurityOptions | undefined, parts: SecurityParts): Security {
  const security: SecurityOptions = options ?? { protocol: 'PLAINTEXT' }
  const source = usesTls(security) ? new TlsContextSource(security.tls ?? {}, parts.clock) : undefined
  const mechanism = openMechanism(security, parts)
  const login = mechanism ? `, ${mechanism.name} as ${mechanism.identity}` : ''
  return {
    description: `${security.protocol}${login}`,
    mechanism,
    tls: async () =>
      source && {
        context: await source.current(),
        clientCert: source.files.clientCert,
        hasOwnCa: source.files.caCert !== undefined,
      },
  }
}

function openMechanism({ protocol, sasl }: SecurityOptions, parts: SecurityParts): SaslMechanism | undefined {
  const isSasl = protocol === 'SASL_PLAINTEXT' || protocol === 'SASL_SSL'
  if (isSasl !== (sasl !== undefined)) {
    const wrong = isSasl ? `needs a login (security.sasl)` : `has no login, but security.sasl is given`
    throw new KafkaBackupError('CONFIG_INVALID', `security.protocol ${protocol} ${wrong}`)
  }
  return sasl && makeMechanism(sasl, parts)
}

function makeMechanism(sasl: SaslOptions, parts: SecurityParts): SaslMechanism {
  switch (sasl.mechanism) {
    case 'PLAIN':
      return plain(sasl)
    case 'SCRAM-SHA-256':
    case 'SCRAM-SHA-512':
      return scram(sasl.mechanism, sasl)
    case 'OAUTHBEARER':
      return oauthBearer(sasl.oauth, openOAuthTokens(sasl.oauth, parts))
    case 'AWS_MSK_IAM':
      return mskIam(sasl.aws ?? {}, parts.clock)
    default:
      return sasl satisfies never
  }
}
