import type { Controller } from '../resource/resource.ts'
import type { FieldSchema } from './field-schema.ts'
import { specFields } from './spec-fields.ts'
import { statusSchema } from './status-schema.ts'

/** A field for the documentation. */
export interface FieldRow {
  /** `spec.storage.bucket`, `spec.encryption.recipients[].keySecret`. */
  path: string
  /** With the values or bounds that it takes. */
  type: string
  isRequired: boolean
  default?: unknown
  meaning: string
}

/** All fields of the spec of a kind, in the order of its definition. */
export function listSpecRows(controller: Controller): FieldRow[] {
  const { properties, required } = specFields(controller)
  return listRows({ properties, required }, 'spec')
}

export function listStatusRows(): FieldRow[] {
  return listRows(statusSchema, 'status')
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
