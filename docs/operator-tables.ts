import { type FieldRow, listSpecRows, listStatusRows } from '../src/operator/crd/field-rows.ts'
import { type Controller, controllers } from '../src/operator/resource/resource.ts'

/** The tables of docs/operator.md: what all kinds have, what each has beyond that, and the status. */
export function operatorTables(): Record<'all' | 'status' | Controller, string> {
  const rows = Object.fromEntries(controllers.map(each => [each, listSpecRows(each).map(formatRow)]))
  const [first = [], ...others] = Object.values(rows)
  const shared = new Set(first.filter(row => others.every(other => other.includes(row))))
  const own = (controller: Controller) => formatTable((rows[controller] ?? []).filter(row => !shared.has(row)))
  return {
    all: formatTable([...shared]),
    backup: own('backup'),
    restore: own('restore'),
    offset_reset: own('offset_reset'),
    offset_rollback: own('offset_rollback'),
    status: formatTable(listStatusRows().map(formatRow)),
  }
}

function formatTable(rows: readonly string[]): string {
  return ['| Field | Type | Default | Meaning |', '|---|---|---|---|', ...rows].join('\n')
}

function formatRow({ path, type, isRequired, default: value, meaning }: FieldRow): string {
  const fallback = isRequired && value === undefined ? 'required' : value === undefined ? '' : formatDefault(value)
  return `| ${[`\`${path}\``, type, fallback, meaning].map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function formatDefault(value: unknown): string {
  return `\`${typeof value === 'object' ? JSON.stringify(value) : value}\``
}
