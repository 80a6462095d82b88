import type { RestoreJob } from '../../config/load-job.ts'
import { formatBytes, formatCount, formatDuration } from '../../lib/units.ts'
import type { CompareReport } from '../../restore/compare.ts'
import type { FilterCounts } from '../../restore/record-filter.ts'
import type { Amounts, Conversions } from '../../restore/report.ts'
import { formatLocation } from '../../storage/location.ts'
import type { ShownRestore as RestoreReport } from '../actions.ts'
import type { OutputStyle } from '../output-style.ts'
import { formatFields } from '../table.ts'
import { formatInstant, plural, printable } from '../text.ts'
import { accessReportDocument, formatAccess, formatAccessTotals } from './access-rules.ts'
import { carriedDocument, formatCarried, formatGroups } from './carried-groups.ts'
import { comparisonDocument, formatDifferences } from './comparison.ts'
import { formatWarnings } from './gap-table.ts'
import { formatLosses, isOpen } from './loss-table.ts'
import { recoveryDocument, recoveryFields } from './restore-estimate.ts'
import { formatWindow } from './restore-window.ts'
import { formatSchemaIds } from './restored-ids.ts'
import { formatTopics } from './restored-topics.ts'
import { formatIds, schemaDocument, schemaFields } from './schema-report.ts'

/** The report of a restore as text: the outcome, figures, topics and warnings. */
export function formatRestore(report: RestoreReport, job: RestoreJob, style: OutputStyle): string[] {
  const { restoreId, generation, wasComplete, topics, totals, gaps, verification, schemas } = report
  const warnings = warningsOf(report)
  const isHeld = job.restore.retention === 'hold' && !wasComplete
  return [
    formatOutcome(report, job, style),
    ...formatFields(
      [
        ['  Wrote', wasComplete ? 'nothing: an earlier run completed the restore' : formatWritten(report)],
        [
          '  Found',
          totals.found === 0 ? undefined : `${plural(totals.found, 'record')} of earlier runs, not written again`,
        ],
        ['  Time window', formatWindow(job)],
        ['  Filter', formatSelected(report.filter)],
        ['  Into', `${plural(topics.length, 'topic')}, ${plural(totals.partitions, 'partition')}`],
        ['  Rebuilt', formatRebuilt(totals)],
        ...(schemas ? schemaFields(schemas, style) : []),
        ['  Schema IDs', formatSchemaIds(totals)],
        ['  Groups', formatCarried(report.consumerGroups)],
        ['  Access', formatAccessTotals(report.access)],
        ...(report.recovery ? recoveryFields(report.recovery) : []),
        ['  Compared', verification && formatVerdict(verification), verification?.ok ? style.good : style.bad],
        ['  Generation', `${generation}, committed ${formatInstant(report.generationCreatedAt)}`],
        ['  Restore ID', restoreId],
        ['  Gaps', gaps.length === 0 ? undefined : `${formatCount(gaps.length)} in the backup itself`, style.warn],
        ['  Warnings', warnings.length === 0 ? undefined : formatCount(warnings.length), style.warn],
      ],
      style,
    ),
    ...(wasComplete || topics.length === 0 ? [] : ['', ...formatTopics(report, style)]),
    ...(wasComplete || !schemas ? [] : formatIds(schemas, style)),
    ...(schemas ? formatLosses('Losses in the target registry', schemas, style) : []),
    ...(report.consumerGroups ? formatGroups(report.consumerGroups, style) : []),
    ...(report.access ? formatAccess(report.access, style) : []),
    ...(verification ? formatDifferences(verification, style) : []),
    ...formatWarnings(warnings.map(printable), style),
    ...(isHeld && report.isDone ? ['', style.warn(RETENTION_HELD)] : []),
    ...(report.isDone ? [] : ['', style.bad(SETTINGS_HELD)]),
  ]
}

const RETENTION_HELD =
  'Retention is off on the created topics (restore.retention: hold). Set it when you no longer need the old records.'
const SETTINGS_HELD =
  'The restore is not complete, and its deferred settings are not applied. Run the same command to compare again, or with restore.verify: false to complete the restore without a comparison.'

function formatOutcome(
  { backupId, wasComplete, verification }: RestoreReport,
  job: RestoreJob,
  style: OutputStyle,
): string {
  const from = `${style.bold(printable(backupId))} from ${printable(formatLocation(job.storage))}`
  if (verification?.ok === false) return `${style.bad('THE TARGET DIFFERS:')} the restore of ${from}`
  return wasComplete ? `${style.good('Already complete:')} the restore of ${from}` : `${style.good('Restored')} ${from}`
}

function formatWritten({ durationMs, verification, totals: { records, bytes } }: RestoreReport): string {
  const writingMs = durationMs - (verification?.durationMs ?? 0)
  const rate = `${formatBytes(Math.round(bytes / Math.max(writingMs / 1000, 0.001)))}/s`
  return `${plural(records, 'record')}, ${formatBytes(bytes)} in ${formatDuration(writingMs)} (${rate})`
}

function formatSelected(counts: RestoreReport['filter']): string | undefined {
  if (!counts) return undefined
  const { selected, examined, notDecoded } = counts
  const unclear = notDecoded === 0 ? '' : `, ${formatCount(notDecoded)} not decoded`
  return `selected ${formatCount(selected)} of ${plural(examined, 'record')} that this run read${unclear}`
}

const reasons: Record<keyof Conversions, string> = {
  repartitioned: 'repartitioned',
  holes: 'with holes',
  log_append_time: 'with broker timestamps',
  oversize: 'too large',
  cut: 'cut',
  headers: 'with added headers',
  schema_ids: 'with other schema IDs',
  merged: 'merged',
}

function formatRebuilt({ rebuilt, conversions }: RestoreReport['totals']): string | undefined {
  if (rebuilt === 0) return undefined
  const parts = Object.entries(reasons).flatMap(([reason, words]) => {
    const count = conversions[reason as keyof Conversions]
    return count === undefined ? [] : [`${formatCount(count)} ${words}`]
  })
  return `${formatCount(rebuilt)} ${rebuilt === 1 ? 'batch' : 'batches'}: ${parts.join(', ')}`
}

function formatVerdict({ ok, totals, durationMs }: CompareReport): string {
  const { records, removed, differences } = totals
  const since = removed === 0 ? '' : `, ${formatCount(removed)} removed by compaction since`
  const found = ok ? 'all equal' : `equal, ${plural(differences, 'difference')} shown below`
  return `${plural(records, 'record')} ${found}${since}, in ${formatDuration(durationMs)}`
}

/** The warnings of the restore and of the comparison. */
function warningsOf({ warnings, verification }: RestoreReport): string[] {
  return [...new Set([...warnings, ...(verification?.warnings ?? [])])]
}

/** Some groups or access rules failed; running the same command again continues with them. */
export function isPartlyDone({ consumerGroups, access }: RestoreReport): boolean {
  return (consumerGroups?.totals.failed ?? 0) + (access?.totals.failed ?? 0) > 0
}

export function restoreDocument(report: RestoreReport, location: string) {
  const { restoreId, backupId, generation, wasComplete, isDone, durationMs, topics, totals, gaps, warnings } = report
  return {
    ok: (report.verification?.ok ?? true) && !isOpen(report.schemas) && !isPartlyDone(report),
    restore_id: restoreId,
    backup_id: backupId,
    location,
    generation,
    generation_created_at: report.generationCreatedAt,
    already_complete: wasComplete,
    complete: isDone,
    duration_ms: Math.round(durationMs),
    topics: topics.map(({ source, target, origin, durationMs: ms, ...amounts }) => ({
      source,
      target,
      origin,
      ...amountsDocument(amounts),
      duration_ms: Math.round(ms),
    })),
    totals: { topics: totals.topics, ...amountsDocument(totals) },
    gaps,
    warnings,
    ...(report.filter && { filter: filterDocument(report.filter) }),
    schemas: report.schemas ? schemaDocument(report.schemas) : null,
    ...(report.consumerGroups && { consumer_groups: carriedDocument(report.consumerGroups) }),
    ...(report.access && { access: accessReportDocument(report.access) }),
    verification: report.verification ? comparisonDocument(report.verification) : null,
    recovery: report.recovery ? recoveryDocument(report.recovery) : null,
  }
}

export function filterDocument({ selected, examined, notDecoded }: FilterCounts) {
  return { selected, examined, not_decoded: notDecoded }
}

export function amountsDocument({
  partitions,
  records,
  bytes,
  found,
  rebuilt,
  conversions,
  schemaIds,
  idCheck,
}: Amounts) {
  const amounts = { partitions, records, bytes, already_there: found }
  const ids = { ...(schemaIds && { schema_ids: schemaIds }), ...(idCheck && { schema_id_check: idCheck }) }
  return { ...amounts, rebuilt_batches: rebuilt, rebuilt_because: conversions, ...ids }
}
