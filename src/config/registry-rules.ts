import { type FieldPath, isMap, type Problem, valueAt } from './problem.ts'

const at: FieldPath = ['enterprise', 'schema_registry']

/**
 * The rules of a registry that span fields. They look at the job as plain data, so that they are reported together with
 * what is wrong inside single fields.
 */
export function checkRegistryRules(tree: unknown): Problem[] {
  const registry = valueAt(tree, at)
  if (!isMap(registry)) return []
  return [...checkTlsPlace(registry), ...checkMtls(registry), ...checkIds(registry)]
}

function checkTlsPlace(registry: Record<string, unknown>): Problem[] {
  if (registry.tls === undefined || valueAt(registry, ['auth', 'tls']) === undefined) return []
  return [about(['auth', 'tls'], 'is given a second time: there is a tls beside auth; keep one of the two')]
}

function checkMtls(registry: Record<string, unknown>): Problem[] {
  if (valueAt(registry, ['auth', 'type']) !== 'mtls') return []
  const tlsPath = valueAt(registry, ['auth', 'tls']) === undefined ? ['tls'] : ['auth', 'tls']
  const missing = ['ca_cert', 'client_cert', 'client_key'].filter(
    name => valueAt(registry, [...tlsPath, name]) === undefined,
  )
  const problems = missing.map(name =>
    about([...tlsPath, name], 'is required with auth.type mtls', 'the path of a file'),
  )
  const url = registry.url
  if (url === undefined) problems.unshift(about(['url'], 'is required with auth.type mtls', 'an https URL'))
  else if (!/^https:/i.test(String(url))) {
    problems.unshift(about(['url'], 'is not https, which auth.type mtls needs', 'an https URL'))
  }
  return problems
}

function checkIds(registry: Record<string, unknown>): Problem[] {
  const isOn = (name: string) => String(valueAt(registry, ['restore', name])) === 'true'
  if (!isOn('rewrite_ids') || !isOn('force_ids')) return []
  return [about(['restore', 'force_ids'], 'contradicts rewrite_ids; set one of the two to false')]
}

function about(path: FieldPath, wrong: string, allowed?: string): Problem {
  return { path: [...at, ...path], about: 'field', wrong, allowed }
}
