import type { BackupStatus } from '../../archive/backup-status.ts'
import type { StatusFinding, StatusLevel } from '../../archive/status-finding.ts'
import { formatAgo, formatBytes, formatCount } from '../../lib/units.ts'
import type { OutputStyle } from '../output-style.ts'
import { type Column, formatTable, formatText } from '../table.ts'
import { printable } from '../text.ts'
import type { LocationStatus } from './location-status.ts'

type Row = BackupStatus & { location: string }

/** The table, and below it what to do, the worst first. */
export function formatStatus(found: readonly LocationStatus[], nowMs: number, style: OutputStyle): string[] {
  const rows = found.flatMap(one =>
    'error' in one ? [] : one.backups.map(backup => ({ ...backup, location: one.location })),
  )
  const isOne = found.length === 1
  const table = rows.length === 0 ? [] : formatTable(columns(isOne, nowMs, style), rows, style)
  const troubles = rows.flatMap(row => row.findings.map(finding => ({ row, finding })))
  const ordered = (['critical', 'warning', 'notice'] as const).flatMap(level =>
    troubles.filter(({ finding }) => finding.level === level),
  )
  const notes = [
    ...found.flatMap(one => ('error' in one ? [style.bad(printable(`${one.location}: ${one.error}`))] : [])),
    ...found.flatMap(one =>
      'backups' in one && one.backups.length === 0 ? [style.warn(printable(`No backups at ${one.location}.`))] : [],
    ),
    ...ordered.flatMap(({ row, finding }) => formatFinding(row, finding, isOne, style)),
  ]
  return [...table, ...(table.length > 0 && notes.length > 0 ? [''] : []), ...notes]
}

function formatFinding(
  { backup_id, location }: Row,
  { level, message, action }: StatusFinding,
  isOne: boolean,
  style: OutputStyle,
): string[] {
  const name = isOne ? backup_id : `${backup_id} at ${location}`
  const paint = { critical: style.bad, warning: style.warn, notice: style.dim }[level]
  return formatText(printable(`${name}: ${message}: ${action}`), style).map(paint)
}

function columns(isOne: boolean, nowMs: number, style: OutputStyle): Column<Row>[] {
  const location: Column<Row>[] = [{ title: 'LOCATION', cell: row => row.location, shrinks: true, dropAs: 1 }]
  return [
    ...(isOne ? [] : location),
    { title: 'BACKUP', cell: row => row.backup_id, shrinks: true, paint: text => style.bold(text) },
    { title: 'STATE', cell: row => row.level, paint: (text, row) => paintLevel(row.level, style)(text) },
    { title: 'AGE', align: 'right', cell: row => (row.age_seconds === null ? '-' : ageOf(row.created_at, nowMs)) },
    { title: 'EVERY', align: 'right', cell: row => formatSpan(row.expected_interval_seconds) },
    { title: 'VERIFY', align: 'right', cell: row => ageOf(row.last_verified_at, nowMs) },
    { title: 'DRILL', align: 'right', cell: row => ageOf(row.last_drilled_at, nowMs) },
    { title: 'GAPS', align: 'right', cell: row => (row.gaps ? formatCount(row.gaps) : '-') },
    { title: 'STORED', align: 'right', cell: row => sizeOf(row.stored_bytes) },
    { title: 'PER DAY', align: 'right', cell: row => sizeOf(row.growth_bytes_per_day) },
  ]
}

function paintLevel(level: StatusLevel, style: OutputStyle) {
  return { ok: style.good, warning: style.warn, critical: style.bad }[level]
}

function ageOf(time: string | null, nowMs: number): string {
  return time === null ? '-' : formatAgo(time, nowMs).replace(/ ago$/, '').replace('just now', '0 s')
}

function sizeOf(bytes: number | null): string {
  if (bytes === null) return '-'
  return bytes < 0 ? `-${formatBytes(-bytes)}` : formatBytes(bytes)
}

const spans: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** In its largest unit that it is at least twice of: `36 h`, not `1 d`. */
function formatSpan(seconds: number | null): string {
  if (seconds === null) return '-'
  const [size, unit] = spans.find(([one]) => seconds >= 2 * one || seconds === one) ?? [1, 's']
  return `${Math.round(seconds / size)} ${unit}`
}
