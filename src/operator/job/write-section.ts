import { type FieldPath, isMap } from '../../config/problem.ts'
import { type Field, jobKindName, type LeafField, type Section } from '../crd/field-tree.ts'
import type { Claim, JobNeeds, KeyRef } from './job-needs.ts'

/** The path of a value in the job file and in the resource. */
interface FieldLocation {
  job: FieldPath
  spec: FieldPath
}

type Fields = Record<string, unknown>

/** The section as a job file has it. A value that is not a map is left to the validation of the job file. */
export function writeSection(section: Section, value: unknown, place: FieldLocation, needs: JobNeeds): unknown {
  if (!isMap(value)) return escapeReferences(value)
  const { chooser } = section
  const kind = chooser && value[chooser.name]
  const written: Fields = chooser && kind !== undefined ? { [chooser.key]: jobKindName(String(kind)) } : {}
  for (const field of section.fields) {
    const result = writeField(field, value, place, needs)
    if (result !== undefined) written[field.key] = result
  }
  return { ...written, ...writeExtras(section.path, value, place, needs) }
}

function writeField(field: Field, parent: Fields, place: FieldLocation, needs: JobNeeds): unknown {
  const job = [...place.job, field.key]
  if (field.type === 'leaf') return writeLeaf(field, parent, { job, spec: place.spec }, needs)
  const value = parent[field.name]
  if (value === undefined) return undefined
  const at: FieldLocation = { job, spec: [...place.spec, field.name] }
  if (field.type === 'section') return writeSection(field.section, value, at, needs)
  if (!Array.isArray(value)) return escapeReferences(value)
  return value.map((item, index) =>
    writeSection(field.item, item, { job: [...at.job, index], spec: [...at.spec, index] }, needs),
  )
}

/** `place.spec` is the path of the section: the leaf has a name for each of its forms. */
function writeLeaf({ forms }: LeafField, parent: Fields, place: FieldLocation, needs: JobNeeds): unknown {
  const form = forms.find(({ name }) => parent[name] !== undefined)
  if (form === undefined) return undefined
  const [value, spec] = [parent[form.name], [...place.spec, form.name]]
  switch (form.type) {
    case 'plain':
      return escapeReferences(value)
    case 'env':
      return needs.addVariable(place.job, value as KeyRef, spec)
    case 'secret-file':
      return needs.addFile('secret', place.job, value as KeyRef, spec)
    case 'map-file':
      return needs.addFile('configMap', place.job, value as KeyRef, spec)
    default:
      return form.type satisfies never
  }
}

/** A resource has no variables, so `${` is literal text. Keys are never interpolated. */
export function escapeReferences(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${')
  if (Array.isArray(value)) return value.map(escapeReferences)
  if (!isMap(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escapeReferences(item)]))
}

/** The fields of `extra-fields.ts`, which a job file does not have. The license secret goes nowhere. */
function writeExtras(path: string, section: Fields, { job, spec }: FieldLocation, needs: JobNeeds): Fields {
  const { pvc, credentialsSecret } = section
  if (path === 'storage' && pvc !== undefined) return { path: needs.addClaim(pvc as Claim) }
  if (path !== 'enterprise.schema_registry' || credentialsSecret === undefined) return {}
  const { name, usernameKey = 'username', passwordKey = 'password' } = credentialsSecret as Credentials
  const variable = (field: string, key: string) =>
    needs.addVariable([...job, 'auth', field], { name, key }, [...spec, 'credentialsSecret'])
  const login = { username: variable('username', usernameKey), password: variable('password', passwordKey) }
  return { auth: { type: 'basic', ...login } }
}

type Credentials = { name: string; usernameKey?: string; passwordKey?: string }
