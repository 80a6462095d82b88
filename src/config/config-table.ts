import { describedJobSchema, type JsonSchema } from './job-json-schema.ts'

interface Row {
  path: string
  schema: JsonSchema
  isRequired: boolean
  /** The kinds of the map around it that have the field; undefined where the map has no kinds. */
  kinds?: string[]
}

/** All fields of a job file as a Markdown table, for docs/configuration.md. */
export function configTable(): string {
  const rows = mergeKinds(listRows(describedJobSchema(), ''))
  const head = ['| Field | Type | Default | Allowed | Meaning |', '|---|---|---|---|---|']
  return [...head, ...rows.map(formatRow)].join('\n')
}

function listRows(schema: JsonSchema, at: string): Row[] {
  const required = new Set(schema.required as string[] | undefined)
  return Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).flatMap(([name, field]) => {
    const path = at === '' ? name : `${at}.${name}`
    if (field['x-type'] !== undefined) return [{ path, schema: field, isRequired: required.has(name) }]
    if (field.oneOf !== undefined) return (field.oneOf as JsonSchema[]).flatMap(kind => listKind(kind, path))
    return listRows(field, path)
  })
}

function listKind(schema: JsonSchema, at: string): Row[] {
  const constants = Object.values(schema.properties as Record<string, JsonSchema>).map(field => field.const)
  const kind = String(constants.find(constant => constant !== undefined))
  return listRows(schema, at).map(row => ({ ...row, kinds: [kind] }))
}

/** One row for a field that several kinds have. */
function mergeKinds(rows: readonly Row[]): Row[] {
  const merged = new Map<string, Row>()
  for (const row of rows) {
    const kinds = [...(merged.get(row.path)?.kinds ?? []), ...(row.kinds ?? [])]
    merged.set(row.path, kinds.length > 0 ? { ...row, kinds } : row)
  }
  return [...merged.values()]
}

function formatRow({ path, schema, isRequired, kinds }: Row): string {
  const isKind = schema.const !== undefined
  const condition = kinds === undefined || isKind ? '' : ` for ${kinds.map(kind => `\`${kind}\``).join(', ')}`
  const fallback = isRequired
    ? `required${condition}`
    : schema.default === undefined
      ? 'none'
      : formatDefault(schema.default)
  const secret = schema.writeOnly === true ? ' A secret: never shown in a message.' : ''
  const cells = [`\`${path}\``, schema['x-type'], fallback, schema['x-allowed'], `${schema.description}${secret}`]
  return `| ${cells.map(cell => String(cell).replaceAll('|', '\\|')).join(' | ')} |`
}

function formatDefault(value: unknown): string {
  return `\`${Array.isArray(value) ? `[${value.join(', ')}]` : String(value)}\``
}
