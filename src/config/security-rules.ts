import { textOf } from '../lib/json.ts'
import { checkRules, type FieldRule, has, not, required } from './field-rules.ts'
import { type FieldPath, isMap, type Problem, valueAt } from './problem.ts'

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

/** A secret stands in the job (by a variable) or in a file. */
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
