import { textOf } from '../lib/json-scalars.ts'
import { type FieldPath, isMap, type Problem, valueAt } from './problem.ts'

type Fields = Record<string, unknown>

const at: FieldPath = ['enterprise', 'schema_registry']

/**
 * The rules of a registry that span fields. They look at the job as plain data, so that they are reported together with
 * what is wrong inside single fields.
 */
export function checkRegistryRules(tree: unknown): Problem[] {
  const registry = valueAt(tree, at)
  if (!isMap(registry)) return []
  return [
    ...checkUrl(registry),
    ...checkTlsPlace(registry),
    ...checkMtls(registry),
    ...checkIds(registry),
    ...checkMapping(registry),
    ...checkWithoutSchemas(registry),
  ]
}

function checkUrl(registry: Fields): Problem[] {
  if (!isOn(registry, ['enabled']) || registry.url !== undefined) return []
  return [about(['url'], 'is required where enabled is true', 'http or https URLs joined by commas')]
}

function checkTlsPlace(registry: Fields): Problem[] {
  if (registry.tls === undefined || valueAt(registry, ['auth', 'tls']) === undefined) return []
  return [about(['auth', 'tls'], 'is given twice: there is also a tls next to auth; keep one of the two')]
}

function checkMtls(registry: Fields): Problem[] {
  if (valueAt(registry, ['auth', 'type']) !== 'mtls') return []
  const tlsPath = valueAt(registry, ['auth', 'tls']) === undefined ? ['tls'] : ['auth', 'tls']
  const missing = ['ca_cert', 'client_cert', 'client_key'].filter(
    name => valueAt(registry, [...tlsPath, name]) === undefined,
  )
  const problems = missing.map(name =>
    about([...tlsPath, name], 'is required with auth.type mtls', 'the path of a file'),
  )
  if (registry.url === undefined) problems.unshift(about(['url'], 'is required with auth.type mtls', 'an https URL'))
  else if (!urlsOf(registry).every(url => /^https:/i.test(url))) {
    problems.unshift(about(['url'], 'is not https, which auth.type mtls needs', 'an https URL'))
  }
  return problems
}

function checkIds(registry: Fields): Problem[] {
  const problems: Problem[] = []
  const isSetOn = (name: string) => isOn(registry, ['restore', name])
  if (isSetOn('rewrite_ids') && isSetOn('force_ids')) {
    problems.push(about(['restore', 'force_ids'], 'contradicts rewrite_ids; set one of the two to false'))
  }
  if (isOff(registry, ['restore', 'id_mapping'])) {
    const wrong = 'contradicts id_mapping: false, which leaves schema IDs to themselves; take one of the two out'
    const contradicting = ['rewrite_ids', 'force_ids'].filter(isSetOn)
    if (valueAt(registry, ['restore', 'id_mapping_file']) !== undefined) contradicting.push('id_mapping_file')
    problems.push(...contradicting.map(name => about(['restore', name], wrong)))
  } else if (valueAt(registry, ['restore', 'id_mapping_file']) !== undefined) {
    const isIdle = isSetOn('force_ids') || isOff(registry, ['restore', 'rewrite_ids'])
    const wrong =
      'has no effect without rewrite_ids: it says which IDs are written into messages; take one of the two out'
    if (isIdle) problems.push(about(['restore', 'id_mapping_file'], wrong))
  }
  return problems
}

/** Two subjects that become one would mix their versions. */
function checkMapping(registry: Fields): Problem[] {
  const mapping = valueAt(registry, ['restore', 'subject_mapping'])
  if (!isMap(mapping)) return []
  const first = new Map<string, string>()
  return Object.entries(mapping).flatMap(([source, target]) => {
    if (typeof target !== 'string') return []
    const other = first.get(target)
    if (other !== undefined) {
      return [about(['restore', 'subject_mapping', source], `goes to the same subject as ${other}; give it another`)]
    }
    first.set(target, source)
    return []
  })
}

/** What is said of registrations would be ignored where there are none. */
function checkWithoutSchemas(registry: Fields): Problem[] {
  if (!isOff(registry, ['restore', 'enabled'])) return []
  const idle = ['force_ids', 'force_register'].filter(name => isOn(registry, ['restore', name]))
  const given = ['set_compatibility', 'accept_loss'].filter(name => valueAt(registry, ['restore', name]) !== undefined)
  return [...idle, ...given].map(name =>
    about(
      ['restore', name],
      'has no effect with restore.enabled: false, which registers nothing; take one of the two out',
    ),
  )
}

function urlsOf({ url }: Fields): string[] {
  return Array.isArray(url)
    ? url.map(textOf)
    : textOf(url)
        .split(',')
        .map(part => part.trim())
}

/** Variables give text, so both forms count. What is neither is refused where the field is read. */
function isOn(registry: Fields, path: FieldPath): boolean {
  return textOf(valueAt(registry, path)) === 'true'
}

function isOff(registry: Fields, path: FieldPath): boolean {
  return textOf(valueAt(registry, path)) === 'false'
}

function about(path: FieldPath, wrong: string, allowed?: string): Problem {
  return { path: [...at, ...path], about: 'field', wrong, allowed }
}
