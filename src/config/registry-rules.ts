import { all, any, checkRules, type FieldRule, forbidden, https, is, not, off, on, required } from './field-rules.ts'
import { type FieldPath, isMap, type Problem, valueAt } from './problem.ts'

type Fields = Record<string, unknown>

const at: FieldPath = ['enterprise', 'schema_registry']

export const registryRules: readonly FieldRule[] = [
  required('url', not(on('enabled')), 'is required where {enabled} is true', 'http or https URLs joined by commas'),
]

/** `tls` is the path of the section with the certificates. */
export function mtlsRules(tls: 'tls' | 'auth.tls'): FieldRule[] {
  const isOther = not(is('auth.type', 'mtls'))
  const wrong = 'is required with auth.type mtls'
  return [
    required('url', isOther, wrong, 'an https URL'),
    forbidden('url', any(isOther, https('url')), 'is not https, which auth.type mtls needs', 'an https URL'),
    ...['ca_cert', 'client_cert', 'client_key'].map(name =>
      required(`${tls}.${name}`, isOther, wrong, 'the path of a file'),
    ),
  ]
}

const isMapped = not(off('id_mapping'))
const unmapped = 'contradicts {id_mapping}: false, which leaves schema IDs to themselves; take one of the two out'
const isRegistering = not(off('enabled'))
const idle = 'has no effect with restore.enabled: false, which registers nothing; take one of the two out'

export const registryRestoreRules: readonly FieldRule[] = [
  forbidden(
    'force_ids',
    any(not(on('force_ids')), not(on('rewrite_ids'))),
    'contradicts {rewrite_ids}; set one of the two to false',
  ),
  ...['rewrite_ids', 'force_ids'].map(name => forbidden(name, any(not(on(name)), isMapped), unmapped)),
  forbidden('id_mapping_file', isMapped, unmapped),
  forbidden(
    'id_mapping_file',
    all(not(on('force_ids')), not(off('rewrite_ids'))),
    'has no effect without {rewrite_ids}: it says which IDs are written into messages; take one of the two out',
  ),
  ...['force_ids', 'force_register'].map(name => forbidden(name, any(not(on(name)), isRegistering), idle)),
  ...['set_compatibility', 'accept_loss'].map(name => forbidden(name, isRegistering, idle)),
]

/**
 * The rules of a registry that span fields. They look at the job as plain data, so that they are reported together with
 * what is wrong inside single fields.
 */
export function checkRegistryRules(tree: unknown): Problem[] {
  const registry = valueAt(tree, at)
  if (!isMap(registry)) return []
  return [
    ...checkRules(registryRules, registry, at),
    ...checkTlsPlace(registry),
    ...checkMtls(registry),
    ...(isMap(registry.restore) ? checkRules(registryRestoreRules, registry.restore, [...at, 'restore']) : []),
    ...checkMapping(registry),
  ]
}

function checkTlsPlace(registry: Fields): Problem[] {
  if (registry.tls === undefined || valueAt(registry, ['auth', 'tls']) === undefined) return []
  return [about(['auth', 'tls'], 'is given twice: there is also a tls next to auth; keep one of the two')]
}

function checkMtls(registry: Fields): Problem[] {
  const isBelow = valueAt(registry, ['auth', 'tls']) !== undefined
  return checkRules(mtlsRules(isBelow ? 'auth.tls' : 'tls'), registry, at)
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

function about(path: FieldPath, wrong: string, allowed?: string): Problem {
  return { path: [...at, ...path], about: 'field', wrong, allowed }
}
