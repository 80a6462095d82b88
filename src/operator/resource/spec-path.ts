import { type FieldPath, isMap, startsWith, valueAt } from '../../config/problem.ts'
import { camelName } from './field-forms.ts'
import type { Field, Section } from './field-tree.ts'
import type { Layout } from './layout.ts'

/** The field of the resource that stands for one of the job file; `resource` decides between several ways to give one. */
export function specPathOf({ parts }: Layout, jobPath: FieldPath, resource: unknown): FieldPath {
  const [part] = parts.filter(({ path }) => startsWith(jobPath, path)).sort((a, b) => b.path.length - a.path.length)
  if (part === undefined) return ['spec', ...jobPath.map(toName)]
  const at = ['spec', part.name]
  const rest = jobPath.slice(part.path.length)
  return [...at, ...below(part.field, rest, valueAt(resource, at))]
}

function below(field: Field, rest: FieldPath, value: unknown): FieldPath {
  if (field.type === 'section') return inSection(field.section, rest, value)
  const [index, ...further] = rest
  if (field.type === 'leaf' || index === undefined) return rest
  return [index, ...inSection(field.item, further, valueAt(value, [index]))]
}

function inSection(section: Section, path: FieldPath, value: unknown): FieldPath {
  const [key, ...rest] = path
  if (key === undefined) return []
  const extra = extraName(section.path, String(key), value)
  if (extra !== undefined) return [extra]
  const field = section.fields.find(each => each.key === key) ?? section.fields.find(each => each.key === `${key}_file`)
  if (field === undefined) return path.map(toName)
  const name = field.type === 'leaf' ? leafName(field.forms, value) : field.name
  return [name, ...below(field, rest, valueAt(value, [name]))]
}

function extraName(section: string, key: string, value: unknown): string | undefined {
  if (section === 'storage' && key === 'path') return 'pvc'
  const isCredentials = section === 'enterprise.schema_registry' && key === 'auth'
  return isCredentials && valueAt(value, ['credentialsSecret']) !== undefined ? 'credentialsSecret' : undefined
}

function leafName(forms: readonly { name: string }[], value: unknown): string {
  const given = forms.find(({ name }) => isMap(value) && value[name] !== undefined)
  return given?.name ?? forms[0]?.name ?? ''
}

function toName(segment: string | number): string | number {
  return typeof segment === 'number' ? segment : camelName(segment)
}
