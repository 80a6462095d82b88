import * as z from 'zod'
import { textOf } from '../lib/json.ts'
import { camelKeys } from './camel-keys.ts'
import {
  all,
  any,
  type Condition,
  checkRules,
  type FieldRule,
  forbidden,
  has,
  is,
  never,
  not,
  required,
} from './field-rules.ts'
import { fields, kinds } from './leaf.ts'
import { type FieldPath, isMap, type Problem, valueAt } from './problem.ts'
import { choice } from './scalar-leaves.ts'
import { anyText, file, pemFile, printableText, text, textMap, tokenUrl } from './text-leaves.ts'

const securityProtocols = ['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'] as const

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

const passwordMechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const
const saslMechanisms = [...passwordMechanisms, 'OAUTHBEARER', 'AWS_MSK_IAM'] as const

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
  const problems = [
    ...checkProtocol(security),
    ...checkRules(securityRules, security, []),
    ...checkTls(security),
    ...checkSasl(security),
  ]
  return problems.map(problem => ({ ...problem, path: [...at, ...problem.path] }))
}

function checkProtocol({ protocol, sasl, tls }: Record<string, unknown>): Problem[] {
  if (protocol !== undefined || (sasl === undefined && tls === undefined)) return []
  const allowed = sasl === undefined ? 'SSL' : 'SASL_SSL, SASL_PLAINTEXT'
  return [about(['protocol'], 'is required, so that nothing is guessed', allowed)]
}

/** Protocols, and what they are with TLS or with a login. */
const withTls = { PLAINTEXT: 'SSL', SASL_PLAINTEXT: 'SASL_SSL' }
const withLogin = { PLAINTEXT: 'SASL_PLAINTEXT', SSL: 'SASL_SSL' }

export const securityRules: readonly FieldRule[] = [
  ...Object.entries(withTls).map(([protocol, better]) => {
    const wrong = `is given although protocol ${protocol} uses no TLS; set protocol to ${better} or remove it`
    return forbidden('tls', not(is('protocol', protocol)), wrong)
  }),
  ...Object.entries(withLogin).map(([protocol, better]) => {
    const wrong = `is given although protocol ${protocol} has no login; set protocol to ${better} or remove it`
    return forbidden('sasl', not(is('protocol', protocol)), wrong)
  }),
  ...['SASL_PLAINTEXT', 'SASL_SSL'].map(protocol =>
    required('sasl', not(is('protocol', protocol)), `is required with protocol ${protocol}`),
  ),
  forbidden(
    'sasl.mechanism',
    not(all(is('protocol', 'SASL_PLAINTEXT'), is('sasl.mechanism', 'AWS_MSK_IAM'))),
    'AWS_MSK_IAM is offered over TLS only; set protocol to SASL_SSL',
  ),
]

const pem = 'the path of a PEM file'

export const tlsRules: readonly FieldRule[] = [
  required('client_key', not(has('client_cert')), 'is required with {client_cert}', pem),
  required('client_cert', not(has('client_key')), 'is required with {client_key}', pem),
  required('client_key', not(has('client_key_password')), 'is required with {client_key_password}', pem),
]

function checkTls({ protocol, tls }: Record<string, unknown>): Problem[] {
  return isMap(tls) && !Object.hasOwn(withTls, textOf(protocol)) ? checkRules(tlsRules, tls, ['tls']) : []
}

export const saslRules = secretRules('password', not(is('mechanism', ...passwordMechanisms)))
export const oauthRules = secretRules('client_secret', never)

/** A secret is in the job (as a variable) or in a file. */
function secretRules(name: string, unless: Condition): readonly FieldRule[] {
  const file = `${name}_file`
  return [
    forbidden(file, any(not(has(name)), unless), `is given together with {${name}}; keep one of the two`),
    required(name, unless, 'is required', 'a text, best taken from a variable', file),
  ]
}

function checkSasl({ protocol, sasl }: Record<string, unknown>): Problem[] {
  if (!isMap(sasl) || Object.hasOwn(withLogin, textOf(protocol))) return []
  return [...checkMechanism(sasl), ...checkRules(saslRules, sasl, ['sasl']), ...checkOauth(sasl)]
}

function checkMechanism({ mechanism }: Record<string, unknown>): Problem[] {
  if (!['GSSAPI', 'KERBEROS'].includes(textOf(mechanism).toUpperCase())) return []
  const advice =
    'Kerberos is not supported; let the cluster enable SCRAM-SHA-512 or a TLS client certificate (SSL) for this client'
  return [about(['sasl', 'mechanism'], advice)]
}

function checkOauth({ mechanism, oauth }: Record<string, unknown>): Problem[] {
  if (mechanism !== 'OAUTHBEARER' || !isMap(oauth)) return []
  const names = isMap(oauth.extensions) ? Object.keys(oauth.extensions) : []
  const wrong = names.filter(name => !/^[A-Za-z]+$/.test(name) || name === 'auth')
  return [
    ...checkRules(oauthRules, oauth, ['sasl', 'oauth']),
    ...wrong.map(name => about(['sasl', 'oauth', 'extensions', name], 'is not a valid extension name', 'letters only')),
  ]
}

function about(path: FieldPath, wrong: string, allowed?: string): Problem {
  return { path, about: 'field', wrong, allowed }
}
