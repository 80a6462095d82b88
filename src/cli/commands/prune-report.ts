import { formatBytes, formatDuration } from '../../lib/units.ts'
import { type BackupOutcome, type PruneReport, totalsOf } from '../../retention/outcome.ts'
import type { OutputStyle } from '../output-style.ts'
import { formatTable, formatText } from '../table.ts'
import { formatInstant, plural, printable } from '../text.ts'

/** The plan or the result of a prune: every backup with the reason, what is removed, and what waits. */
export function formatPrune(report: PruneReport, style: OutputStyle): string[] {
  if (report.backups.length === 0) return [`No backups at ${printable(report.location)} match.`]
  return [
    ...formatText(formatHead(report, style), style),
    '',
    ...formatBackups(report, style),
    ...formatDetails(report, style),
    ...report.notes.flatMap(note => formatText(printable(`note: ${note}`), style)),
  ]
}

function formatHead({ backups, isDryRun, graceMs }: PruneReport, style: OutputStyle): string {
  const totals = totalsOf(backups)
  const [goes, waits] = isDryRun ? ['would be removed', 'would wait'] : ['removed', 'wait']
  const parts = [
    `${plural(totals.removed.objects, 'object')} (${formatBytes(totals.removed.bytes)}) ${goes}`,
    totals.waiting.objects > 0
      ? `${plural(totals.waiting.objects, 'object')} (${formatBytes(totals.waiting.bytes)}) ${waits} for the end of the grace period of ${formatDuration(graceMs)}`
      : '',
    totals.retained.objects > 0
      ? `${plural(totals.retained.objects, 'object')} protected by the retention of the store`
      : '',
  ]
  return `${style.bold(isDryRun ? 'prune (dry run)' : 'prune')}: ${parts.filter(part => part !== '').join(', ')}`
}

const words: Record<BackupOutcome['state'], [plan: string, done: string]> = {
  kept: ['keep', 'kept'],
  given_up: ['expire', 'expired'],
  removed: ['remove', 'removed'],
  left: ['skip', 'skipped'],
}

function formatBackups({ backups, isDryRun }: PruneReport, style: OutputStyle): string[] {
  return formatTable<BackupOutcome>(
    [
      { title: 'BACKUP', cell: one => one.backupId, shrinks: true, paint: text => style.bold(text) },
      { title: 'CREATED', dropAs: 1, cell: one => (one.createdAt === null ? '-' : formatInstant(one.createdAt)) },
      { title: 'STORED', dropAs: 2, align: 'right', cell: one => formatBytes(one.storedBytes) },
      {
        title: 'ACTION',
        cell: one => words[one.state][isDryRun ? 0 : 1],
        paint: (text, one) => (one.state === 'kept' ? style.good(text) : style.warn(text)),
      },
      { title: 'WHY', wraps: true, cell: one => one.reasons.join(', ') },
    ],
    backups,
    style,
  )
}

function formatDetails({ backups, isDryRun }: PruneReport, style: OutputStyle): string[] {
  const lines = backups.flatMap(one =>
    detailsOf(one, isDryRun).flatMap(line => formatText(printable(line), style, '  ')),
  )
  return lines.length === 0 ? [] : ['', style.bold('Details'), ...lines]
}

function detailsOf(one: BackupOutcome, isDryRun: boolean): string[] {
  const { backupId, trimmed, generationsRemoved, generationsKept, unknown, usedBy, notes } = one
  const would = isDryRun ? 'would be ' : ''
  const lines = [
    trimmed.segments > 0
      ? `${plural(trimmed.segments, 'segment')} of ${plural(trimmed.partitions, 'partition')}, ${plural(trimmed.records, 'record')}, ${formatBytes(trimmed.bytes)}, ${would}removed`
      : '',
    generationsRemoved > 0 ? `${plural(generationsRemoved, 'generation')} ${would}removed` : '',
    generationsKept.length > 0 ? formatKept(generationsKept) : '',
    ...usedBy.map(user => `in use by ${user}`),
    unknown.length > 0
      ? `${plural(unknown.length, 'object')} of no backup, not removed: ${unknown.slice(0, 5).join(', ')}`
      : '',
    ...notes,
  ]
  return lines.filter(line => line !== '').map(line => `${backupId}: ${line}`)
}

const MAX_KEPT = 10

function formatKept(kept: BackupOutcome['generationsKept']): string {
  const shown = kept.slice(-MAX_KEPT).map(({ generation, reasons }) => `${generation} (${reasons.join(', ')})`)
  const more = kept.length > MAX_KEPT ? `, and ${plural(kept.length - MAX_KEPT, 'earlier one')}` : ''
  return `${plural(kept.length, 'generation')} kept by rules: ${shown.reverse().join(', ')}${more}`
}

export function pruneDocument({ location, isDryRun, graceMs, backups, notes }: PruneReport) {
  return {
    location,
    dry_run: isDryRun,
    grace_ms: graceMs,
    totals: totalsOf(backups),
    backups: backups.map(one => ({
      backup_id: one.backupId,
      state: one.state,
      reasons: one.reasons,
      created_at: one.createdAt,
      stored_bytes: one.storedBytes,
      used_by: one.usedBy,
      trimmed: one.trimmed,
      generations_removed: one.generationsRemoved,
      generations_kept: one.generationsKept,
      removed: one.removed,
      waiting: one.waiting,
      retained: one.retained,
      unknown: one.unknown,
      notes: one.notes,
    })),
    notes,
  }
}
