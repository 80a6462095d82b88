import { type FieldPath, isMap } from '../../config/problem.ts'
import { extraFields } from '../crd/extra-fields.ts'
import { type Field, jobKindName, type LeafField, type Section } from '../crd/field-tree.ts'
import { namesOf } from '../crd/section-schema.ts'
import type { JobNeeds } from './job-needs.ts'

/** Where a value stands in the job file and in the resource. */
export interface Place {
  job: FieldPath
  spec: FieldPath
}

type Fields = Record<string, unknown>

/** The section as a job file has it. What is no map is left to the check of the job, which has words for it. */
export function writeSection(section: Section, value: unknown, place: Place, needs: JobNeeds): unknown {
  if (!isMap(value)) return escapeReferences(value)
  refuseStrangers(section, value, place, needs)
  const { chooser } = section
  const kind = chooser && value[chooser.name]
  const written: Fields = chooser && kind !== undefined ? { [chooser.key]: jobKindName(String(kind)) } : {}
  for (const field of section.fields) {
    const result = writeField(field, value, place, needs)
    if (result !== undefined) written[field.key] = result
  }
  return { ...written, ...writeExtras(section.path, value, place, needs) }
}

function writeField(field: Field, parent: Fields, place: Place, needs: JobNeeds): unknown {
  const job = [...place.job, field.key]
  if (field.type === 'leaf') return writeLeaf(field, parent, { job, spec: place.spec }, needs)
  const value = parent[field.name]
  if (value === undefined) return undefined
  const at: Place = { job, spec: [...place.spec, field.name] }
  if (field.type === 'section') return writeSection(field.section, value, at, needs)
  if (!Array.isArray(value)) return escapeReferences(value)
  return value.map((item, index) =>
    writeSection(field.item, item, { job: [...at.job, index], spec: [...at.spec, index] }, needs),
  )
}

/** `place.spec` is that of the section: the leaf has a name for each of its forms. */
function writeLeaf({ forms }: LeafField, parent: Fields, place: Place, needs: JobNeeds): unknown {
  const [form, second] = forms.filter(({ name }) => parent[name] !== undefined)
  if (form === undefined) return undefined
  const [value, spec] = [parent[form.name], [...place.spec, form.name]]
  if (second) needs.refuse([...place.spec, second.name], `is given together with ${form.name}; keep one of the two`)
  switch (form.type) {
    case 'plain':
      return escapeReferences(value)
    case 'env':
      return needs.addVariable(place.job, value, spec)
    case 'secret-file':
      return needs.addFile('secret', place.job, value, spec)
    case 'map-file':
      return needs.addFile('configMap', place.job, value, spec)
    default:
      return form.type satisfies never
  }
}

function refuseStrangers({ path, chooser, fields }: Section, value: Fields, { spec }: Place, needs: JobNeeds): void {
  const known = [
    ...(chooser ? [chooser.name] : []),
    ...fields.flatMap(namesOf),
    ...Object.keys(extraFields[path] ?? {}),
  ]
  for (const name of Object.keys(value).filter(each => !known.includes(each))) {
    needs.refuse([...spec, name], 'is not a known field', known.join(', '))
  }
}

/** A resource has no variables: what looks like one in its texts is meant as it is. Keys are never looked at. */
export function escapeReferences(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${')
  if (Array.isArray(value)) return value.map(escapeReferences)
  if (!isMap(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escapeReferences(item)]))
}

type Write = (value: unknown, place: Place, needs: JobNeeds) => Record<string, unknown>

/** What the fields of `extra-fields.ts` are in a job file. The license is looked for by the operator and goes nowhere. */
const writers: Readonly<Record<string, Readonly<Record<string, Write>>>> = {
  storage: { pvc: (claim, { spec }, needs) => ({ path: needs.addClaim(claim, spec) }) },
  'enterprise.schema_registry': { credentialsSecret: writeCredentials },
}

function writeExtras(
  path: string,
  section: Record<string, unknown>,
  place: Place,
  needs: JobNeeds,
): Record<string, unknown> {
  const written = Object.entries(writers[path] ?? {}).map(([name, write]) => {
    if (section[name] === undefined) return {}
    return write(section[name], { job: place.job, spec: [...place.spec, name] }, needs)
  })
  return Object.assign({}, ...written)
}

function writeCredentials(value: unknown, { job, spec }: Place, needs: JobNeeds): Record<string, unknown> {
  const { name, usernameKey = 'username', passwordKey = 'password' } = isMap(value) ? value : {}
  const variable = (field: string, key: unknown) => needs.addVariable([...job, 'auth', field], { name, key }, spec)
  const [username, password] = [variable('username', usernameKey), variable('password', passwordKey)]
  return { auth: { type: 'basic', username, password } }
}
