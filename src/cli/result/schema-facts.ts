import type { SchemaRestoreDryRun, SchemaRestoreReport } from '../../jobs/schemas.ts'
import type { Finding } from '../../observe/finding.ts'
import type { SchemaBackupReport } from '../../registry/backup-schemas.ts'
import type { SchemaReport } from '../../registry/restore/schema-report.ts'
import { type Losses, openLosses } from '../../registry/restore/schema-report.ts'
import { RestoreRefusal } from '../../restore/refusal.ts'
import type { Totals } from './format-result.ts'
import type { Facts } from './result-builder.ts'

export function schemaBackupFacts({ generation, subjects, versions }: SchemaBackupReport): Facts {
  return { generation, totals: { subjects, versions } }
}

export function schemaRestoreFacts(report: SchemaRestoreReport): Facts {
  const problem = problemOfSchemas(report)
  return { generation: report.generation, totals: schemaTotals(report), ...(problem && { problem }) }
}

/** Why the restore would be refused, or would lose something. */
export function schemaDryRunFacts(plan: SchemaRestoreDryRun): Facts {
  const problem = problemOfPlan(plan.findings, plan)
  return problem ? { problem } : {}
}

/** In the words of the restore. */
export function problemOfPlan(findings: readonly Finding[], schemas: Losses | undefined): Facts['problem'] {
  if (!findings.some(({ severity }) => severity === 'error')) return problemOfSchemas(schemas)
  const { code, message, details } = new RestoreRefusal(findings)
  return { code, message, details }
}

export function schemaTotals({ subjects, versions: { register, keep, replace, merge, leave } }: SchemaReport): Totals {
  return { subjects, registered: register, kept: keep, replaced: replace, merged: merge, left: leave }
}

/** A loss is not an error: everything else is restored. */
export function problemOfSchemas(schemas: Losses | undefined): Facts['problem'] {
  const open = schemas ? openLosses(schemas) : []
  if (open.length === 0) return undefined
  const message =
    `the registry cannot store everything in the backup: ${open.join(', ')}; the notes of the report list every loss. To accept ` +
    'these kinds, list them in enterprise.schema_registry.restore.accept_loss (acceptLoss in Kubernetes)'
  return { message }
}
