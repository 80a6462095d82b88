import { describedJobSchema, type JsonSchema } from '../src/config/job-schema.ts'
import type { Mode } from '../src/config/mode.ts'

interface Row {
  path: string
  schema: JsonSchema
  isRequired: boolean
  /** The kinds of the map around it that have the field; undefined where the map has no kinds. */
  kinds?: string[]
}

/**
 * All fields of job files as Markdown tables, for docs/configuration.md: those that jobs of both modes have, and those of
 * one mode alone. The clusters of both have the same fields under two names, which share a row.
 */
export function configTables(): Record<'both' | Mode, string> {
  const [backup, restore] = [listFields('backup'), listFields('restore')]
  const both = backup.flatMap(one => {
    const other = restore.find(each => toSource(each.path) === one.path && each.cells === one.cells)
    return other === undefined ? [] : [{ one, other }]
  })
  const shared = new Set(both.flatMap(({ one, other }) => [one, other]))
  return {
    both: formatTable(both.map(({ one, other }) => ({ ...one, names: [...new Set([one.path, other.path])] }))),
    backup: formatTable(backup.filter(field => !shared.has(field))),
    restore: formatTable(restore.filter(field => !shared.has(field))),
  }
}

interface Field {
  path: string
  names: string[]
  /** The columns after the name. */
  cells: string
}

function listFields(mode: Mode): Field[] {
  return mergeKinds(listRows(describedJobSchema(mode), '')).map(({ path, rows }) => ({
    path,
    names: [path],
    cells: formatCells(rows),
  }))
}

function toSource(path: string): string {
  return path.replace(/^target\./, 'source.')
}

function formatTable(rows: readonly Field[]): string {
  const lines = rows.map(({ names, cells }) => `| ${names.map(name => `\`${name}\``).join(', ')} | ${cells} |`)
  return ['| Field | Type | Default | Allowed | Meaning |', '|---|---|---|---|---|', ...lines].join('\n')
}

function listRows(schema: JsonSchema, at: string): Row[] {
  const required = new Set(schema.required as string[] | undefined)
  return Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).flatMap(([name, field]) => {
    const path = at === '' ? name : `${at}.${name}`
    if (field['x-type'] !== undefined) return [{ path, schema: field, isRequired: required.has(name) }]
    if (field.type === 'array') return listRows(field.items as JsonSchema, `${path}.0`)
    if (field.oneOf !== undefined) return (field.oneOf as JsonSchema[]).flatMap(kind => listKind(kind, path))
    return listRows(field, path)
  })
}

function listKind(schema: JsonSchema, at: string): Row[] {
  const constants = Object.values(schema.properties as Record<string, JsonSchema>).map(field => field.const)
  const kind = String(constants.find(constant => constant !== undefined))
  return listRows(schema, at).map(row => (row.schema.const === undefined ? { ...row, kinds: [kind] } : row))
}

/** One row for a field that several kinds have. If their descriptions differ, the row has all of them. */
function mergeKinds(rows: readonly Row[]): { path: string; rows: Row[] }[] {
  const merged = new Map<string, Row[]>()
  for (const row of rows) merged.set(row.path, [...(merged.get(row.path) ?? []), row])
  return [...merged].map(([path, same]) => ({ path, rows: same }))
}

function formatCells(rows: readonly Row[]): string {
  const ofKinds = rows.map(row => ({ kinds: row.kinds ?? [], cells: cellsOf(row) }))
  return [0, 1, 2, 3]
    .map(column => formatCell(ofKinds.map(({ kinds, cells }) => ({ kinds, text: cells[column] ?? '' }))))
    .join(' | ')
}

function formatCell(variants: readonly { kinds: string[]; text: string }[]): string {
  const kindsOf = new Map<string, string[]>()
  for (const { kinds, text } of variants) kindsOf.set(text, [...(kindsOf.get(text) ?? []), ...kinds])
  const named = [...kindsOf].map(([text, kinds]) => ({ text, kinds: kinds.map(kind => `\`${kind}\``).join(', ') }))
  const [only] = named
  const text =
    named.length > 1
      ? named.map(({ text, kinds }) => `${kinds}: ${text}`).join('<br>')
      : only?.text === required && only.kinds !== ''
        ? `${required} for ${only.kinds}`
        : (only?.text ?? '')
  return text.replaceAll('|', '\\|')
}

const required = 'required'

function cellsOf({ schema, isRequired }: Row): string[] {
  const fallback = schema.default === undefined ? 'none' : formatDefault(schema.default)
  const secret = schema.writeOnly === true ? ' A secret: never shown in a message.' : ''
  const cells = [
    schema['x-type'],
    isRequired ? required : fallback,
    schema['x-allowed'],
    `${schema.description}${secret}`,
  ]
  return cells.map(String)
}

function formatDefault(value: unknown): string {
  const text = Array.isArray(value) ? `[${value.join(', ')}]` : typeof value === 'object' ? '{}' : String(value)
  return `\`${text}\``
}
