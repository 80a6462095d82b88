import { describedJobSchema, type JsonSchema } from '../../config/job-schema.ts'
import type { Mode } from '../../config/mode.ts'

/** A section of a job file with the names of its fields in a resource. */
export interface Section {
  /** Where a job file has it, without the indexes of lists: `storage`, `encryption.recipients`. */
  path: string
  description: string
  fields: Field[]
  /** The field that selects the kind. A job schema has one map per kind, a resource one map for all kinds. */
  chooser?: { name: string; key: string; description: string; kinds: string[] }
}

export type Field = SectionField | ListField | LeafField

interface FieldBase {
  /** In a job file. */
  key: string
  /** The kinds that have the field, if the section has kinds and not all have it. */
  kinds?: string[]
  /** The kinds that require it; `all` or none for a section without kinds. */
  requiredFor: string[] | 'all'
}

interface SectionField extends FieldBase {
  type: 'section'
  name: string
  section: Section
}

/** A list of maps. */
interface ListField extends FieldBase {
  type: 'list'
  name: string
  description: string
  item: Section
  minItems: number
}

export interface LeafField extends FieldBase {
  type: 'leaf'
  /** One of them is given. */
  forms: Form[]
  /** The schema of the field; several if the kinds differ. */
  schemas: JsonSchema[]
}

/** A way to give a value of the job file in a resource. */
export interface Form {
  name: string
  /** `plain`: as it is. `env`: a variable from a secret. `secret-file`, `map-file`: the path of a mounted key. */
  type: 'plain' | 'env' | 'secret-file' | 'map-file'
}

/** The fields of the jobs of a mode, derived from the job schema, so a new option needs no code here. */
export function jobTree(mode: Mode): Section {
  return readSection(describedJobSchema(mode), [])
}

function readSection(schema: JsonSchema, path: readonly string[]): Section {
  const base = { path: path.join('.'), description: String(schema.description ?? '') }
  const variants = schema.oneOf as JsonSchema[] | undefined
  if (variants === undefined) return { ...base, fields: readFields(schema, path) }
  const chosen = variants.map(variant => ({ ...readChooser(variant), fields: readFields(variant, path) }))
  const { key = '', description = '' } = chosen[0] ?? {}
  const kinds = chosen.map(({ kind }) => kind)
  const merged = mergeKinds(chosen).filter(field => field.key !== key)
  return { ...base, fields: merged, chooser: { name: camelName(key), key, description, kinds } }
}

function readChooser(variant: JsonSchema): { key: string; kind: string; description: string } {
  const [key, field] = Object.entries(propertiesOf(variant)).find(([, each]) => each.const !== undefined) ?? []
  return { key: key ?? '', kind: kindName(String(field?.const)), description: String(field?.description ?? '') }
}

function readFields(schema: JsonSchema, path: readonly string[]): Field[] {
  const required = new Set(schema.required as string[] | undefined)
  const properties = propertiesOf(schema)
  return Object.entries(properties).flatMap(([key, field]) => {
    const at = [...path, key]
    if (isLeftOut(at, field, Object.keys(properties))) return []
    return [readField(key, field, at, required.has(key) ? 'all' : [])]
  })
}

function readField(key: string, schema: JsonSchema, path: readonly string[], requiredFor: string[] | 'all'): Field {
  const base = { key, requiredFor }
  const items = schema.items as JsonSchema | undefined
  if (schema['x-type'] !== undefined) return { type: 'leaf', ...base, forms: formsOf(path, schema), schemas: [schema] }
  if (schema.type !== 'array' || items === undefined) {
    return { type: 'section', ...base, name: camelName(key), section: readSection(schema, path) }
  }
  const about = { description: String(schema.description ?? ''), minItems: Number(schema.minItems ?? 0) }
  return { type: 'list', ...base, name: camelName(key), item: readSection(items, path), ...about }
}

/** Merges fields with the same key. */
function mergeKinds(variants: readonly { kind: string; fields: Field[] }[]): Field[] {
  const merged = new Map<string, { field: Field; kinds: string[]; requiredFor: string[] }>()
  for (const { kind, fields } of variants) {
    for (const field of fields) {
      const known = merged.get(field.key) ?? { field, kinds: [], requiredFor: [] }
      known.kinds.push(kind)
      if (field.requiredFor === 'all') known.requiredFor.push(kind)
      if (known.field !== field) addVariant(known.field, field)
      merged.set(field.key, known)
    }
  }
  return [...merged.values()].map(({ field, kinds, requiredFor }) => {
    const isEverywhere = kinds.length === variants.length
    return {
      ...field,
      ...(isEverywhere ? {} : { kinds }),
      requiredFor: requiredFor.length === variants.length ? 'all' : requiredFor,
    }
  })
}

function addVariant(known: Field, other: Field): void {
  if (known.type !== 'leaf' || other.type !== 'leaf') return
  const isKnown = known.schemas.some(schema => JSON.stringify(schema) === JSON.stringify(other.schemas[0]))
  if (!isKnown) known.schemas.push(...other.schemas)
}

function propertiesOf(schema: JsonSchema): Record<string, JsonSchema> {
  return (schema.properties ?? {}) as Record<string, JsonSchema>
}

/**
 * What a job file can say and a resource says in another way, or not at all. Paths without the indexes of lists; all
 * that is below one of them is left out with it.
 */
export const leftOut: Readonly<Record<string, string>> = {
  mode: 'the kind of the resource says it',
  monitoring: 'the schedule of the resource and the alerts of the operator say it',
  metrics: 'the operator reads the progress of a pod there',
  'storage.path': 'the claim of `storage.pvc` is mounted there',
  'enterprise.schema_registry.auth.tls': '`tls` next to `auth` means the same',
  'encryption.recipients.key_env': '`keySecret` is mounted as a file',
  'encryption.recipients.passphrase_env': '`passphraseSecret` is mounted as a file',
}

/** Files that are not secret, so a ConfigMap may hold them too. */
const publicFiles = new Set(['ca_cert', 'id_mapping_file'])

/** Files that the issuer mounts into the pod, at a path that the author of `podTemplate` knows. */
const podFiles = new Set(['federated_token_file'])

/** Not secret, but often stored together with a secret. */
const oftenInSecrets = new Set(['access_key_id', 'username'])

/** Secret only if it contains a password. */
const seldomSecret = new Set(['proxy'])

/** `siblings` are the keys of the same map: a secret that can also be a file is mounted as a file, which may change. */
function isLeftOut(path: readonly string[], schema: JsonSchema, siblings: readonly string[]): boolean {
  const isInFile = schema.writeOnly === true && siblings.includes(`${path.at(-1)}_file`)
  return isInFile || Object.hasOwn(leftOut, path.join('.'))
}

function formsOf(path: readonly string[], schema: JsonSchema): Form[] {
  const key = path.at(-1) ?? ''
  const plain: Form = { type: 'plain', name: camelName(key) }
  if (schema['x-type'] === 'file path' && !podFiles.has(key)) {
    const base = camelName(key.replace(/_file$/, ''))
    const forms: Form[] = [{ type: 'secret-file', name: secretName(base) }]
    return publicFiles.has(key) ? [...forms, { type: 'map-file', name: `${base}ConfigMap` }] : forms
  }
  const env: Form = { type: 'env', name: secretName(camelName(key)) }
  if (schema.writeOnly === true) return seldomSecret.has(key) ? [plain, env] : [env]
  return oftenInSecrets.has(key) ? [plain, env] : [plain]
}

/** The name of a kind in a resource. */
export function kindName(kind: string): string {
  return kind === 'filesystem' ? 'pvc' : kind
}

export function jobKindName(name: string): string {
  return name === 'pvc' ? 'filesystem' : name
}

export function camelName(key: string): string {
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function secretName(name: string): string {
  return name.endsWith('Secret') ? name : `${name}Secret`
}

export function namesOf(field: Field): string[] {
  return field.type === 'leaf' ? field.forms.map(({ name }) => name) : [field.name]
}
