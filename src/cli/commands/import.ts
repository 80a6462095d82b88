import { usageError } from '../../errors.ts'
import type { ImportReport } from '../../import/import-oso.ts'
import { formatBytes } from '../../lib/units.ts'
import type { OutputStyle } from '../output-style.ts'
import type { Session } from '../session.ts'
import { formatText } from '../table.ts'
import { plural, printable } from '../text.ts'

const PARTIAL = 4

export async function run(session: Session): Promise<number> {
  const { from, to, backupId } = session.options
  if (from === undefined || to === undefined || backupId === undefined) {
    throw usageError('pass --from, --backup-id and --to')
  }
  const report = await session.withProgress('import', 'reading the archive', onProgress =>
    session.actions.importJob({ from, to, backupId }, { onProgress }, session.signal),
  )
  const { generation, topics, partitions, records, bytes, gaps } = report
  session.outcome.note({ generation, totals: { topics, partitions, records, bytes }, gaps })
  session.print(
    () => formatImport(report, session.style),
    () => report,
  )
  return report.damaged_segments > 0 ? PARTIAL : 0
}

function formatImport(report: ImportReport, style: OutputStyle): string[] {
  const { backup_id, to, topics, partitions, records, bytes, gaps, losses } = report
  const extent = `${plural(topics, 'topic')}, ${plural(partitions, 'partition')}, ${plural(records, 'record')}, ${formatBytes(bytes)}, ${plural(gaps, 'gap')}`
  return [
    `Imported ${style.bold(printable(backup_id))} to ${printable(to)}`,
    `  ${extent}`,
    '',
    'Lost before the import, or not imported',
    ...losses.flatMap(loss => formatText(`- ${printable(loss)}`, style, '  ')),
  ]
}
