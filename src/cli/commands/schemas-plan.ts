import type { SchemaRestoreDryRun } from '../../jobs/schemas.ts'
import type { OutputStyle } from '../output-style.ts'
import { schemaDryRunFacts } from '../result/schema-facts.ts'
import type { Session } from '../session.ts'
import { formatFields, formatText } from '../table.ts'
import { printable } from '../text.ts'
import { formatFindings } from './finding-table.ts'
import { formatAcceptance, formatLossDetails, formatLosses } from './loss-table.ts'
import { formatNotes, plannedFields } from './schema-report.ts'
import { dryRunDocument, exitOf, formatWrites, headFields, isRefusedBy } from './schemas-restore.ts'

/** `schemas plan`: shows what the target registry cannot store, before anything is written. */
export async function run(session: Session): Promise<number> {
  const job = await session.loadClusterlessJob(session.options.config ?? '', 'restore')
  const plan = await session.actions.dryRunSchemasJob(job, session, session.signal)
  session.outcome.note(schemaDryRunFacts(plan))
  session.print(
    () => formatPlan(plan, session.style),
    () => dryRunDocument(plan),
  )
  return exitOf(plan)
}

function formatPlan(plan: SchemaRestoreDryRun, style: OutputStyle): string[] {
  const title = `Plan of the restore of the schemas of ${style.bold(printable(plan.backupId))}: nothing is written`
  const blockers = plan.findings.filter(({ severity }) => severity === 'error')
  const others = plan.notes.filter(({ kind }) => kind !== 'lossy')
  return [
    ...formatText(title, style),
    ...formatFields([...headFields(plan), ...plannedFields(plan, style), ['  Would send', formatWrites(plan)]], style),
    ...formatLosses('Losses in the target registry', plan, style),
    ...formatLossDetails(plan, style),
    ...formatNotes(others, style),
    ...formatFindings('Blockers', blockers, style),
    ...(isRefusedBy(plan)
      ? ['', style.bad('The restore would be refused before it writes anything.')]
      : formatAcceptance(plan, style)),
  ]
}
