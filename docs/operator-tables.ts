import { type FieldRow, listSpecRows, listStatusRows } from '../src/operator/crd/field-rows.ts'
import { type Controller, controllers } from '../src/operator/resource/resource.ts'

/** The tables of docs/operator.md: what all kinds have, what two of them share, what each has alone, and the status. */
export function operatorTables(): Record<'all' | 'data' | 'status' | Controller, string> {
  const rows = Object.fromEntries(controllers.map(each => [each, listSpecRows(each).map(formatRow)])) as Rows
  const inAll = rows.backup.filter(row => controllers.every(each => rows[each].includes(row)))
  const inBoth = rows.backup.filter(row => rows.restore.includes(row) && !inAll.includes(row))
  const own = (controller: Controller) =>
    formatTable(rows[controller].filter(row => !inAll.includes(row) && !inBoth.includes(row)))
  return {
    all: formatTable(inAll),
    data: formatTable(inBoth),
    backup: own('backup'),
    restore: own('restore'),
    offset_reset: own('offset_reset'),
    offset_rollback: own('offset_rollback'),
    status: formatStatus(listStatusRows()),
  }
}

type Rows = Record<Controller, string[]>

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
