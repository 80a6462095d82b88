import { KafkaBackupError, usageError } from '../../errors.ts'
import { type ExportFormat, exportFormats, isLineFormat } from '../../export/export-format.ts'
import type { ExportReport } from '../../export/export-report.ts'
import { newTally, type Tally } from '../../inspect/cat.ts'
import type { ExportRequest } from '../../jobs/export.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import { parseLocation } from '../../storage/location.ts'
import type { CommandOptions } from '../option-specs.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatTable } from '../table.ts'
import { plural } from '../text.ts'
import { withBackup } from './backups-at.ts'
import { choiceOf } from './generation-choice.ts'
import { readQuery } from './record-query.ts'

export async function run(session: Session): Promise<number> {
  const { options, actions, signal } = session
  const tally = newTally()
  const request = readRequest(session, tally)
  const isPrinted = 'print' in request.to
  const report = await withBackup(session, (storage, backupId) =>
    session.withProgress('export', 'reading the backup', onProgress =>
      actions.exportAt(storage, backupId, { ...request, onProgress }, signal),
    ),
  )
  if (!isPrinted) {
    session.print(
      () => formatReport(report, session.style),
      () => report,
    )
  }
  const closed = session.isOutputClosed ? '; it stopped when its output was closed' : ''
  const summary = `export: ${formatSummary(report)}${closed}`
  const { keys_not_decoded: keys, values_not_decoded: values, searched_as_stored: stored } = report
  const isPartial = (keys ?? 0) + (values ?? 0) + stored + report.reasons.length > 0
  if (isPrinted || isPartial) {
    if (options.quiet || !session.tell(() => [summary])) session.log.write(isPartial ? 'warn' : 'info', summary)
  }
  session.outcome.note({ generation: report.generation, totals: { records: report.records } })
  return judge(tally)
}

/** What is exported is complete; what was left out by a condition on a field may not be. */
function judge({ damage }: Tally): number {
  if (damage === undefined) return 0
  const message = `keys, values or headers whose schemas cannot be read were exported as they are stored: ${damage}`
  throw new KafkaBackupError('ARCHIVE_DAMAGED', message)
}

function readRequest(session: Session, tally: Tally): ExportRequest {
  const { options } = session
  const format = formatOf(options)
  const query = { ...readQuery(options), allIncarnations: options.allIncarnations }
  if (!isLineFormat(format) && (options.keyAs ?? 'auto') + (options.valueAs ?? 'auto') !== 'autoauto') {
    throw usageError(`--key-as and --value-as do not apply to --as ${format}, which keeps the stored bytes`)
  }
  if (format !== 'csv' && options.keepFormulas) throw usageError('--keep-formulas applies to --as csv only')
  if (format === 'segments' && options.withAborted) {
    throw usageError(
      '--with-aborted does not apply to --as segments: without conditions, every batch is copied as it is stored',
    )
  }
  const shared = { query, tally, format, keepsFormulas: options.keepFormulas, ...choiceOf(options) }
  const { out = '', overwrite } = options
  if (out !== '-') return { ...shared, to: { location: parseLocation(out), overwrites: overwrite } }
  if (!isLineFormat(format)) throw usageError(`--as ${format} needs a folder: --out - takes jsonl and csv`)
  if (options.format === 'json') throw usageError('--out - prints the records; --format json needs a folder')
  return { ...shared, to: { print: lines => session.printAll(lines) } }
}

function formatOf({ as }: CommandOptions): ExportFormat {
  return exportFormats.find(one => one === as) ?? 'jsonl'
}

function formatReport(report: ExportReport, style: OutputStyle): string[] {
  const { files, location, records } = report
  if (files.length === 0) return [`No records to export; ${formatCount(report.searched)} were searched.`]
  const columns = [
    { title: 'FILE', cell: (one: (typeof files)[number]) => one.name, shrinks: true as const },
    { title: 'RECORDS', cell: (one: (typeof files)[number]) => formatCount(one.records), align: 'right' as const },
    { title: 'SIZE', cell: (one: (typeof files)[number]) => formatBytes(one.bytes), align: 'right' as const },
  ]
  const bytes = files.reduce((sum, one) => sum + one.bytes, 0)
  const total = `${plural(records, 'record')} in ${plural(files.length, 'file')} (${formatBytes(bytes)}) in ${location}`
  return [...formatTable(columns, files, style), '', total]
}

function formatSummary(report: ExportReport): string {
  const { records, searched, searched_as_stored: stored } = report
  const [keys, values] = [report.keys_not_decoded ?? 0, report.values_not_decoded ?? 0]
  const [first] = report.reasons
  return [
    `exported ${formatCount(records)} of ${plural(searched, 'record')}`,
    ...(keys + values > 0
      ? [`${plural(keys, 'key')} and ${plural(values, 'value')} not decoded, and exported as stored: ${first?.reason}`]
      : []),
    ...(first && keys + values === 0 ? [`of ${plural(first.count, 'record')}, ${first.reason}`] : []),
    ...(stored > 0 ? [`conditions were compared with the stored bytes of ${formatStored(stored)}`] : []),
    ...(report.stopped_at_limit ? ['it stopped at --limit'] : []),
  ].join('; ')
}

function formatStored(count: number): string {
  return count === 1 ? '1 key or value' : `${formatCount(count)} keys and values`
}
