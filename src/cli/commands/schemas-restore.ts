import type { SchemaRestoreJob } from '../../config/load-job.ts'
import { errorTable } from '../../error-table.ts'
import type { SchemaRestoreDryRun, SchemaRestoreHead, SchemaRestoreReport } from '../../jobs/schemas.ts'
import { formatCount, formatDuration } from '../../lib/units.ts'
import { RestoreRefusal, refusalCode } from '../../restore/refusal.ts'
import type { OutputStyle } from '../output-style.ts'
import { schemaDryRunFacts, schemaRestoreFacts } from '../result/schema-facts.ts'
import type { Session } from '../session.ts'
import { type Field, formatFields, formatText } from '../table.ts'
import { printable } from '../text.ts'
import { formatFindings } from './finding-table.ts'
import { formatLosses, isOpen, LOSSY } from './loss-table.ts'
import { showRefusal } from './refused.ts'
import { formatIds, formatNotes, planDocument, plannedFields, schemaDocument, schemaFields } from './schema-report.ts'

/** `schemas restore`. */
export async function run(session: Session): Promise<number> {
  const { actions, options, signal } = session
  const job = await session.loadClusterlessJob(options.config ?? '', 'restore')
  if (options.dryRun) return showDryRun(session, job)
  const report = await session
    .withProgress('schemas', 'checking the backup and the registry', onProgress =>
      actions.restoreSchemasJob(job, { onProgress }, signal),
    )
    .catch(error => {
      throw error instanceof RestoreRefusal ? showRefusal(session, error) : error
    })
  session.outcome.note(schemaRestoreFacts(report))
  session.print(
    () => formatReport(report, session.options.verbose > 0, session.style),
    () => ({ ok: !isOpen(report), ...headDocument(report), ...schemaDocument(report) }),
  )
  return isOpen(report) ? LOSSY : 0
}

/** The exit code is that of the restore. */
async function showDryRun(session: Session, job: SchemaRestoreJob): Promise<number> {
  const plan = await session.actions.dryRunSchemasJob(job, session, session.signal)
  const isRefused = isRefusedBy(plan)
  session.outcome.note(schemaDryRunFacts(plan))
  session.print(
    () => formatPlan(plan, isRefused, session.style),
    () => dryRunDocument(plan),
  )
  return exitOf(plan)
}

/** The exit code of the restore, as far as the plan determines it. */
export function exitOf(plan: SchemaRestoreDryRun): number {
  if (isRefusedBy(plan)) return errorTable[refusalCode(plan.findings)].exitCode
  return isOpen(plan) ? LOSSY : 0
}

export function isRefusedBy({ findings }: SchemaRestoreDryRun): boolean {
  return findings.some(({ severity }) => severity === 'error')
}

export function dryRunDocument(plan: SchemaRestoreDryRun) {
  return {
    dry_run: true,
    ok: !isRefusedBy(plan) && !isOpen(plan),
    ...headDocument(plan),
    ...planDocument(plan),
    findings: plan.findings,
  }
}

function headDocument({ backupId, generation, location, registry }: SchemaRestoreHead) {
  return { backup_id: backupId, generation, location, registry }
}

function formatReport(report: SchemaRestoreReport, isVerbose: boolean, style: OutputStyle): string[] {
  const { wasComplete, requests, durationMs, notes } = report
  const of = `${style.bold(printable(report.backupId))} from ${printable(report.location)}`
  const outcome = wasComplete
    ? `${style.good('Already complete:')} the schemas of ${of}`
    : `${style.good('Restored the schemas')} of ${of}`
  return [
    outcome,
    ...formatFields(
      [
        ...headFields(report),
        ...schemaFields(report, style),
        ['  Took', formatDuration(durationMs)],
        ['  Requests', isVerbose ? `${formatCount(requests)}${wasComplete ? ', all of them reads' : ''}` : undefined],
        ['  Notes', notes.length === 0 ? undefined : formatCount(notes.length), style.warn],
      ],
      style,
    ),
    ...formatIds(report, style),
    ...formatLosses('Losses in the target registry', report, style),
    ...formatNotes(notes, style),
  ]
}

function formatPlan(plan: SchemaRestoreDryRun, isRefused: boolean, style: OutputStyle): string[] {
  return [
    ...formatText(
      `Dry run of the restore of the schemas of ${style.bold(printable(plan.backupId))}: nothing is written`,
      style,
    ),
    ...formatFields([...headFields(plan), ...plannedFields(plan, style), ['  Would send', formatWrites(plan)]], style),
    ...formatLosses('Losses in the target registry', plan, style),
    ...formatFindings('Preflight findings', plan.findings, style),
    ...(isRefused ? ['', style.bad('The restore would be refused before it writes anything.')] : []),
  ]
}

/** Undefined if the restore would be refused: an empty plan does not mean that nothing is missing. */
export function formatWrites(plan: SchemaRestoreDryRun): string | undefined {
  if (isRefusedBy(plan)) return undefined
  const parts = Object.entries(plan.writes).map(([type, count]) => `${formatCount(count)} ${type}`)
  return parts.length === 0 ? 'nothing: the registry already has everything' : parts.join(', ')
}

export function headFields(
  head: SchemaRestoreHead & Pick<SchemaRestoreReport, 'flavour' | 'registryVersion'>,
): Field[] {
  const { registry, generation, flavour, registryVersion } = head
  const version = registryVersion === null ? '' : ` ${registryVersion}`
  return [
    ['  Registry', `${registry} (${flavour}${version})`],
    ['  Generation', String(generation)],
  ]
}
