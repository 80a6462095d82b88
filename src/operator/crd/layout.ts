import type { Mode } from '../../config/mode.ts'
import { type FieldPath, isMap, startsWith, valueAt } from '../../config/problem.ts'
import { camelName, type Field, jobTree, type Section } from './field-tree.ts'
import type { AnyController } from './resource.ts'

/** A field of a spec and its field in the job file. */
export interface Part {
  /** In the spec. */
  name: string
  /** In the job file. */
  path: readonly string[]
  field: Field
  isRequired: boolean
}

export interface Layout {
  /** Of the job file. */
  mode: Mode
  parts: readonly Part[]
}

type Row = readonly [name: string, path: string, need?: 'required' | 'optional']

const shared: readonly Row[] = [
  ['storage', 'storage'],
  ['encryption', 'encryption'],
]

/** Without a third column a field is required if the job file requires it. */
const rows: Record<AnyController, { mode: Mode; rows: readonly Row[] }> = {
  backup: {
    mode: 'backup',
    rows: [
      ['kafkaCluster', 'source'],
      ['topics', 'source.topics'],
      ['backupId', 'backup_id', 'optional'],
      ...shared,
      ['backup', 'backup'],
      ['retention', 'retention'],
      ['enterprise', 'enterprise'],
    ],
  },
  restore: {
    mode: 'restore',
    rows: [
      ['kafkaCluster', 'target'],
      ['backupId', 'backup_id'],
      ...shared,
      ['restore', 'restore'],
      ['enterprise', 'enterprise'],
    ],
  },
  offset_reset: { mode: 'restore', rows: [['kafkaCluster', 'target'], ...shared] },
  offset_rollback: { mode: 'restore', rows: [['kafkaCluster', 'target'], ...shared] },
  storage: { mode: 'backup', rows: [['storage', 'storage']] },
}

const layouts = new Map<AnyController, Layout>()

/** Which fields of the spec go into the job file, and where. */
export function layoutOf(controller: AnyController): Layout {
  const known = layouts.get(controller)
  if (known) return known
  const layout = buildLayout(controller)
  layouts.set(controller, layout)
  return layout
}

function buildLayout(controller: AnyController): Layout {
  const { mode, rows: own } = rows[controller]
  const tree = jobTree(mode)
  const paths = own.map(([, path]) => path)
  const parts = own.map(([name, path, need]) => {
    const field = without(fieldAt(tree, path.split('.')), path, paths)
    return { name, path: path.split('.'), field, isRequired: need ? need === 'required' : field.requiredFor === 'all' }
  })
  return { mode, parts }
}

function fieldAt(section: Section, path: readonly string[]): Field {
  const [key, ...rest] = path
  const field = section.fields.find(each => each.key === key)
  if (field === undefined) throw new Error(`the job file has no field ${path.join('.')}`)
  if (rest.length === 0) return field
  if (field.type !== 'section') throw new Error(`${key} has no fields`)
  return fieldAt(field.section, rest)
}

/** Removes fields that the spec has elsewhere from the section that has them in the job file. */
function without(field: Field, path: string, paths: readonly string[]): Field {
  if (field.type !== 'section') return field
  const fields = field.section.fields.filter(({ key }) => !paths.includes(`${path}.${key}`))
  return { ...field, section: { ...field.section, fields } }
}

/** The spec field for a path of the job file; `resource` decides between several ways to give it. */
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
