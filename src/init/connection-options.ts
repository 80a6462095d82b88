import { usageError } from '../errors.ts'
import { type Connection, plainText, sectionOf } from './connection.ts'

/** What the command line says of a connection. */
export interface ConnectionOptions {
  bootstrapServers?: string | undefined
  protocol?: string | undefined
  mechanism?: string | undefined
  username?: string | undefined
  /** The environment variable with the password. */
  passwordEnv?: string | undefined
  tlsCa?: string | undefined
  tlsCert?: string | undefined
  tlsKey?: string | undefined
}

/** Pure. The connection of a file, or an empty one, with what the command line says instead. */
export function withConnectionOptions(known: Connection | undefined, options: ConnectionOptions): Connection {
  const { bootstrapServers, protocol: asked, mechanism, username, passwordEnv = 'KAFKA_PASSWORD' } = options
  if (passwordEnv !== undefined && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(passwordEnv)) {
    throw usageError('--password-env takes the name of an environment variable, not a password')
  }
  const servers = bootstrapServers?.split(',').flatMap(one => (one.trim() === '' ? [] : [one.trim()]))
  const tls = {
    ...known?.security?.tls,
    ...(options.tlsCa !== undefined && { ca_cert: options.tlsCa }),
    ...(options.tlsCert !== undefined && { client_cert: options.tlsCert }),
    ...(options.tlsKey !== undefined && { client_key: options.tlsKey }),
  }
  const isLogin = mechanism !== undefined || username !== undefined
  const sasl = isLogin ? loginOf(mechanism, username, passwordEnv) : known?.security?.sasl
  const protocol = asked ?? known?.security?.protocol ?? guessProtocol(Object.keys(tls).length > 0, sasl !== undefined)
  assertProtocol(protocol, options)
  const security = sectionOf(protocol, tls, sasl)
  const own = { variable: passwordEnv, origin: 'the password of the user' }
  return {
    bootstrapServers: servers ?? known?.bootstrapServers ?? [],
    ...(known?.clientId !== undefined && { clientId: known.clientId }),
    ...(security && { security }),
    secrets: usedIn(security, [...(isLogin ? [own] : []), ...(known?.secrets ?? [])]),
    notes: known?.notes ?? [],
  }
}

/** Refuses options that the protocol would ignore: a login or a certificate must not vanish from the job. */
function assertProtocol(protocol: string, { mechanism, tlsCa, tlsCert, tlsKey }: ConnectionOptions): void {
  if (mechanism !== undefined && !protocol.startsWith('SASL_')) {
    throw usageError(`--mechanism needs --protocol SASL_SSL or SASL_PLAINTEXT: the protocol ${protocol} has no login`)
  }
  if ((tlsCa ?? tlsCert ?? tlsKey) !== undefined && !protocol.endsWith('SSL')) {
    throw usageError(
      `--tls-ca, --tls-cert and --tls-key need --protocol SSL or SASL_SSL: the protocol ${protocol} has no TLS`,
    )
  }
}

/** The secrets that the section refers to; of two with the same variable the first. */
function usedIn(security: Connection['security'], secrets: Connection['secrets']): Connection['secrets'] {
  const text = JSON.stringify(security ?? {})
  return secrets.filter(
    ({ variable }, at) =>
      text.includes(`\${${variable}}`) && secrets.findIndex(one => one.variable === variable) === at,
  )
}

function loginOf(mechanism: string | undefined, username: string | undefined, passwordEnv: string) {
  if (mechanism === undefined) throw usageError('--username needs --mechanism')
  if (mechanism === 'AWS_MSK_IAM') return { mechanism }
  if (mechanism === 'OAUTHBEARER') {
    throw usageError(
      '--mechanism OAUTHBEARER needs more fields than options have: pass --from with a client.properties file',
    )
  }
  if (username === undefined) throw usageError(`--mechanism ${mechanism} needs --username`)
  return { mechanism, username: plainText(username), password: `\${${passwordEnv}}` }
}

/** Never weaker than what the options mean. */
function guessProtocol(hasTls: boolean, hasLogin: boolean): string {
  if (hasLogin) return 'SASL_SSL'
  return hasTls ? 'SSL' : 'PLAINTEXT'
}
