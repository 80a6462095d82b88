import * as z from 'zod'
import { textOf } from '../lib/json.ts'
import { camelKeys } from './camel-keys.ts'
import { checkRules, type FieldRule, has, not, required } from './field-rules.ts'
import { fields, kinds } from './leaf.ts'
import { type FieldPath, isMap, type Problem, valueAt } from './problem.ts'
import { choice } from './scalar-leaves.ts'
import { anyText, file, pemFile, printableText, text, textMap, tokenUrl } from './text-leaves.ts'

export const securityProtocols = ['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'] as const

const tlsFilesSchema = fields({
  ca_cert: text(pemFile, {
    description:
      'The CA certificates that brokers are trusted by, and no others. Without it those that Node.js ships are trusted.',
  }).exactOptional(),
  client_cert: text(pemFile, {
    description: 'The certificate that this client shows, with its chain; needs `client_key`.',
  }).exactOptional(),
  client_key: text(pemFile, { description: 'The private key of the client certificate.' }).exactOptional(),
  client_key_password: text(anyText, {
    description: 'The password of an encrypted private key.',
    secret: true,
  }).exactOptional(),
})
  .transform(tls => camelKeys(tls))
  .meta({ description: 'TLS files, for SSL and SASL_SSL. They are read again when they change.' })

const saslMechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER', 'AWS_MSK_IAM'] as const

const oauthSchema = fields({
  token_url: text(tokenUrl, { description: 'Where tokens are asked for (client credentials grant).', hidden: true }),
  client_id: text(anyText, { description: 'The client that asks for a token.' }),
  client_secret: text(anyText, { description: 'The secret of the client.', secret: true }).exactOptional(),
  client_secret_file: text(file, {
    description: 'The file that holds the secret instead; it is read at each request for a token.',
  }).exactOptional(),
  client_auth: choice(['basic', 'post'], {
    description: 'Where the endpoint expects id and secret: in the Authorization header or in the form.',
  }).prefault('basic'),
  scope: text(anyText, { description: 'The scope asked for.' }).exactOptional(),
  audience: text(anyText, { description: 'The audience asked for.' }).exactOptional(),
  extensions: textMap(printableText, {
    description: 'SASL extensions sent with the token, such as `logicalCluster` and `identityPoolId`.',
    allowed: 'a map of names of letters to texts',
  }).exactOptional(),
  ca_cert: text(pemFile, {
    description: 'The CA certificates that the token endpoint is trusted by.',
  }).exactOptional(),
})
  .transform(oauth => camelKeys(oauth))
  .meta({ description: 'How tokens are got.' })

const oauthLogin = fields({ mechanism: mechanism('OAUTHBEARER'), oauth: oauthSchema })

const awsSchema = fields({
  region: text(anyText, {
    description: 'The region of the cluster. Without it, it is taken from the host name of the broker.',
  }).exactOptional(),
  profile: text(anyText, {
    description: 'A profile of the AWS configuration, such as one with a role to assume.',
  }).exactOptional(),
}).meta({ description: 'Whose AWS credentials are used. Without a profile: the default chain of the AWS SDK.' })

const mskLogin = fields({ mechanism: mechanism('AWS_MSK_IAM'), aws: awsSchema.exactOptional() })

const saslSchema = kinds(
  'mechanism',
  [passwordLogin('PLAIN'), passwordLogin('SCRAM-SHA-256'), passwordLogin('SCRAM-SHA-512'), oauthLogin, mskLogin],
  'is not known',
).meta({ description: 'How to log in, for SASL_PLAINTEXT and SASL_SSL.' })

/** How a cluster is talked to. `checkSecurityRules` has the rules between the fields. */
export const securitySchema = fields({
  protocol: choice(securityProtocols, {
    description: 'What the listener speaks. Nothing else is tried: certificates and host names are always verified.',
  }),
  tls: tlsFilesSchema.exactOptional(),
  sasl: saslSchema.exactOptional(),
}).meta({ description: 'How the cluster is talked to. Without it: plain text and no login.' })

function passwordLogin<const T extends string>(name: T) {
  return fields({
    mechanism: mechanism(name),
    username: text(anyText, { description: 'The user.' }),
    password: text(anyText, { description: 'The password of the user.', secret: true }).exactOptional(),
    password_file: text(file, {
      description: 'The file that holds the password instead; it is read at each login.',
    }).exactOptional(),
  }).transform(login => camelKeys(login))
}

function mechanism<const T extends string>(name: T) {
  return z
    .literal(name)
    .meta({ description: 'The SASL mechanism.', 'x-type': 'text', 'x-allowed': saslMechanisms.join(', ') })
}

/**
 * The rules of the security of a cluster that span fields, and what is refused with advice. They look at the job as
 * plain data, so that they are reported together with what is wrong inside single fields.
 */
export function checkSecurityRules(tree: unknown, at: FieldPath): Problem[] {
  const security = valueAt(tree, at)
  if (!isMap(security)) return []
  const problems = [...checkProtocol(security), ...checkTls(security), ...checkSasl(security)]
  return problems.map(problem => ({ ...problem, path: [...at, ...problem.path] }))
}

function checkProtocol(security: Record<string, unknown>): Problem[] {
  const protocol = security.protocol
  if (protocol === undefined && (security.sasl !== undefined || security.tls !== undefined)) {
    const allowed = security.sasl === undefined ? 'SSL' : 'SASL_SSL, SASL_PLAINTEXT'
    return [about(['protocol'], 'is required, so that nothing is guessed', allowed)]
  }
  return []
}

function checkTls({ protocol, tls }: Record<string, unknown>): Problem[] {
  if (tls === undefined) return []
  if (protocol === 'PLAINTEXT' || protocol === 'SASL_PLAINTEXT') {
    const better = protocol === 'PLAINTEXT' ? 'SSL' : 'SASL_SSL'
    return [
      about(['tls'], `is given although protocol ${protocol} uses no TLS; set protocol to ${better} or remove it`),
    ]
  }
  if (!isMap(tls)) return []
  return checkRules(tlsRules, tls, ['tls'])
}

const pem = 'the path of a PEM file'

export const tlsRules: readonly FieldRule[] = [
  required('client_key', not(has('client_cert')), 'is required with {client_cert}', pem),
  required('client_cert', not(has('client_key')), 'is required with {client_key}', pem),
  required('client_key', not(has('client_key_password')), 'is required with {client_key_password}', pem),
]

function checkSasl({ protocol, sasl }: Record<string, unknown>): Problem[] {
  const isSasl = protocol === 'SASL_PLAINTEXT' || protocol === 'SASL_SSL'
  if (sasl === undefined) return isSasl ? [about(['sasl'], `is required with protocol ${protocol}`)] : []
  if (protocol === 'PLAINTEXT' || protocol === 'SSL') {
    const better = protocol === 'SSL' ? 'SASL_SSL' : 'SASL_PLAINTEXT'
    return [
      about(['sasl'], `is given although protocol ${protocol} has no login; set protocol to ${better} or remove it`),
    ]
  }
  if (!isMap(sasl)) return []
  return [...checkMechanism(sasl, protocol), ...checkSecret(sasl, 'password', []), ...checkOauth(sasl)]
}

function checkMechanism({ mechanism }: Record<string, unknown>, protocol: unknown): Problem[] {
  const name = textOf(mechanism).toUpperCase()
  if (name === 'GSSAPI' || name === 'KERBEROS') {
    const advice =
      'Kerberos is not supported; let the cluster enable SCRAM-SHA-512 or a TLS client certificate (SSL) for this client'
    return [about(['sasl', 'mechanism'], advice)]
  }
  if (name === 'AWS_MSK_IAM' && protocol === 'SASL_PLAINTEXT') {
    return [about(['sasl', 'mechanism'], 'AWS_MSK_IAM is offered over TLS only; set protocol to SASL_SSL')]
  }
  return []
}

function checkOauth({ mechanism, oauth }: Record<string, unknown>): Problem[] {
  if (mechanism !== 'OAUTHBEARER' || !isMap(oauth)) return []
  const names = isMap(oauth.extensions) ? Object.keys(oauth.extensions) : []
  const wrong = names.filter(name => !/^[A-Za-z]+$/.test(name) || name === 'auth')
  return [
    ...checkSecret(oauth, 'client_secret', ['oauth']),
    ...wrong.map(name => about(['sasl', 'oauth', 'extensions', name], 'is not a valid extension name', 'letters only')),
  ]
}

/** A secret is in the job (as a variable) or in a file. */
function checkSecret(map: Record<string, unknown>, name: 'password' | 'client_secret', below: FieldPath): Problem[] {
  const isAsked = name === 'client_secret' || /^(PLAIN|SCRAM-SHA-(256|512))$/.test(textOf(map.mechanism))
  if (!isAsked) return []
  const path = ['sasl', ...below]
  const file = `${name}_file`
  if (map[name] !== undefined && map[file] !== undefined) {
    return [about([...path, file], `is given together with ${name}; keep one of the two`)]
  }
  if (map[name] !== undefined || map[file] !== undefined) return []
  return [about([...path, name], `is required (or ${file})`, 'a text, best taken from a variable')]
}

function about(path: FieldPath, wrong: string, allowed?: string): Problem {
  return { path, about: 'field', wrong, allowed }
}
