import { formatCount, formatDuration } from '../../lib/units.ts'
import type { SchemaBackupReport } from '../../registry/backup-schemas.ts'
import { formatLocation } from '../../storage/location.ts'
import type { OutputStyle } from '../output-style.ts'
import { schemaBackupFacts } from '../result/schema-facts.ts'
import type { Session } from '../session.ts'
import { formatFields } from '../table.ts'
import { plural, printable } from '../text.ts'
import { formatWarnings } from './gap-table.ts'

/** `schemas backup`. */
export async function run(session: Session): Promise<number> {
  const job = await session.loadClusterlessJob(session.options.config ?? '', 'backup')
  const report = await session.withProgress('schemas', 'reading the registry', onProgress =>
    session.actions.backupSchemasJob(job, { onProgress }, session.signal),
  )
  session.outcome.note(schemaBackupFacts(report))
  const location = formatLocation(job.storage)
  session.print(
    () => formatReport(report, location, session.style),
    () => documentOf(report, location),
  )
  return 0
}

function documentOf({ backupId, isChanged, durationMs, ...report }: SchemaBackupReport, location: string) {
  const { generation, subjects, versions, topics, warnings } = report
  return {
    backup_id: backupId,
    location,
    generation,
    changed: isChanged,
    subjects,
    versions,
    topics,
    warnings,
    duration_ms: Math.round(durationMs),
  }
}

function formatReport(report: SchemaBackupReport, location: string, style: OutputStyle): string[] {
  const { backupId, generation, isChanged, subjects, versions, topics, warnings, durationMs } = report
  const of = `${style.bold(printable(backupId))} at ${printable(location)}`
  const amount = `${plural(subjects, 'subject')}, ${plural(versions, 'version')}`
  return [
    isChanged
      ? `${style.good('Backed up the schemas')} of ${of}`
      : `${style.good('Nothing new')} for ${of}: the registry is as generation ${generation} has it`,
    ...formatFields(
      [
        ['  Schemas', `${amount}, read in ${formatDuration(durationMs)}`],
        ['  Topics', topics === 0 ? 'none yet' : `${formatCount(topics)}, as they were`],
        ['  Generation', String(generation)],
        ['  Warnings', warnings.length === 0 ? undefined : formatCount(warnings.length), style.warn],
      ],
      style,
    ),
    ...formatWarnings(warnings.map(printable), style),
  ]
}
