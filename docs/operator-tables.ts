import type { FieldSchema } from '../src/operator/crd/field-schema.ts'
import { type AnyController, allControllers, controllers } from '../src/operator/crd/resource.ts'
import { specFields } from '../src/operator/crd/spec-fields.ts'
import { statusSchema, storageStatusSchema } from '../src/operator/crd/status.ts'

/** The tables of docs/operator.md: what all kinds have, what two of them share, what each has alone, and the status. */
export function operatorTables(): Record<'all' | 'data' | 'status' | 'storage-status' | AnyController, string> {
  const rows = Object.fromEntries(allControllers.map(each => [each, listSpecRows(each).map(formatRow)])) as Rows
  const inAll = rows.backup.filter(row => controllers.every(each => rows[each].includes(row)))
  const inBoth = rows.backup.filter(row => rows.restore.includes(row) && !inAll.includes(row))
  const own = (controller: AnyController) =>
    formatTable(rows[controller].filter(row => !inAll.includes(row) && !inBoth.includes(row)))
  return {
    all: formatTable(inAll),
    data: formatTable(inBoth),
    backup: own('backup'),
    restore: own('restore'),
    offset_reset: own('offset_reset'),
    offset_rollback: own('offset_rollback'),
    storage: own('storage'),
    status: formatStatus(listRows(statusSchema, 'status')),
    'storage-status': formatStatus(listRows(storageStatusSchema, 'status')),
  }
}

type Rows = Record<AnyController, string[]>

function formatTable(rows: readonly string[]): string {
  return ['| Field | Type | Default | Meaning |', '|---|---|---|---|', ...rows].join('\n')
}

function formatRow({ path, type, isRequired, default: value, meaning }: FieldRow): string {
  const fallback = value === undefined ? (isRequired ? 'required' : '') : formatDefault(value)
  return formatCells([`\`${path}\``, type, fallback, meaning])
}

function formatStatus(rows: readonly FieldRow[]): string {
  const lines = rows.map(({ path, type, meaning }) => formatCells([`\`${path}\``, type, meaning]))
  return ['| Field | Type | Meaning |', '|---|---|---|', ...lines].join('\n')
}

function formatCells(cells: readonly string[]): string {
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function formatDefault(value: unknown): string {
  return `\`${typeof value === 'object' ? JSON.stringify(value) : value}\``
}

/** A field for the documentation. */
interface FieldRow {
  /** `spec.storage.bucket`, `spec.encryption.recipients[].keySecret`. */
  path: string
  /** With the values or bounds that it takes. */
  type: string
  isRequired: boolean
  default?: unknown
  meaning: string
}

/** All fields of the spec of a kind, in the order of its definition. */
function listSpecRows(controller: AnyController): FieldRow[] {
  const { properties, required } = specFields(controller)
  return listRows({ properties, required }, 'spec')
}

/** What Kubernetes describes itself, such as the parts of a toleration, has no description here and no row. */
function listRows({ properties = {}, required = [] }: FieldSchema, at: string): FieldRow[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    if (field.description === undefined) return []
    const path = `${at}.${name}`
    const inner = field.items ? listRows(field.items, `${path}[]`) : listRows(field, path)
    const isDefault = field.default !== undefined && !isEmptyMap(field.default)
    const row: FieldRow = {
      path,
      type: inner.length > 0 ? (field.items ? 'list of maps' : 'map') : formatType(field),
      isRequired: required.includes(name),
      ...(isDefault ? { default: field.default } : {}),
      meaning: field.description,
    }
    return [row, ...inner]
  })
}

function isEmptyMap(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function formatType(schema: FieldSchema): string {
  if (schema.enum) return schema.enum.map(value => `\`${value}\``).join(', ')
  if (schema['x-kubernetes-int-or-string']) return `integer${formatBounds(schema)} or text`
  if (schema.type === 'array') return formatList(schema)
  if (schema.type === 'object') return formatMap(schema)
  if (schema.type === 'integer' || schema.type === 'number') return `${schema.type}${formatBounds(schema)}`
  if (schema.format === 'date-time') return 'time'
  return schema.type === 'string' ? 'text' : (schema.type ?? 'anything')
}

function formatList({ items = {} }: FieldSchema): string {
  return items['x-kubernetes-preserve-unknown-fields'] ? 'list, as Kubernetes has it' : `list of ${formatType(items)}`
}

function formatMap({ properties, additionalProperties, ...schema }: FieldSchema): string {
  if (additionalProperties) return `map of ${formatType(additionalProperties)}`
  const names = Object.keys(properties ?? {})
  return schema['x-kubernetes-preserve-unknown-fields'] || names.length === 0
    ? 'as Kubernetes has it'
    : `\`{${names.join(', ')}}\``
}

function formatBounds({ minimum, maximum }: FieldSchema): string {
  if (minimum === undefined) return maximum === undefined ? '' : ` up to ${maximum}`
  return maximum === undefined ? ` from ${minimum}` : ` ${minimum} to ${maximum}`
}
