import type { SchemaBackupReport } from '../../schemas/backup-schemas.ts'
import type { SchemaReport } from '../../schemas/schema-report.ts'
import type { SchemaRestoreReport } from '../../wiring/schema-jobs.ts'
import type { Totals } from './format-result.ts'
import type { Facts } from './outcome.ts'

export function schemaBackupFacts({ generation, subjects, versions }: SchemaBackupReport): Facts {
  return { generation, totals: { subjects, versions } }
}

export function schemaRestoreFacts(report: SchemaRestoreReport): Facts {
  const problem = problemOfSchemas(report)
  return { generation: report.generation, totals: schemaTotals(report), ...(problem && { problem }) }
}

export function schemaTotals({ subjects, versions: { register, keep, replace, merge, leave } }: SchemaReport): Totals {
  return { subjects, registered: register, kept: keep, replaced: replace, merged: merge, left: leave }
}

/** A note of a loss is no error: all else is restored. */
export function problemOfSchemas(schemas: Pick<SchemaReport, 'notes'> | undefined): Facts['problem'] {
  if (!schemas?.notes.some(({ kind }) => kind === 'lossy')) return undefined
  return { message: 'the registry cannot hold all that the backup has; the notes of the report say what' }
}
