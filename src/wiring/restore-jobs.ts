import type { RestoreJob } from '../config/load-job.ts'
import { attempt, type Check, type CheckReport } from '../observe/check.ts'
import { describeFinding } from '../observe/finding.ts'
import { versionKey } from '../registry/model.ts'
import type { RestoreDryRun } from '../restore/dry-run.ts'
import type { RestoreOptions } from '../restore/options.ts'
import type { RestoreReport } from '../restore/report.ts'
import type { RestoreParts } from '../restore/run-restore.ts'
import { describeSchemaPlan, type SchemaDryRun } from '../schemas/schema-dry-run.ts'
import type { SchemaReport } from '../schemas/schema-report.ts'
import { assertExists, type Hooks, quiet, withMetrics, withParts } from './parts.ts'
import { checkRegistry } from './registry-check.ts'
import { restoreOptions } from './restored-jobs.ts'
import { type SchemaSession, withSchemas } from './schema-session.ts'

/** Of data and, where the job has a registry, of its schemas. */
export type JobRestoreReport = RestoreReport & { schemas?: SchemaReport }
export type JobRestoreDryRun = RestoreDryRun & { schemas?: SchemaDryRun }

/**
 * Puts a backup back on the target of the job: schemas first, then topics and records. The store is only read, but for the
 * journal of the schemas.
 */
export function runRestoreJob(job: RestoreJob, hooks: Hooks, signal: AbortSignal): Promise<JobRestoreReport> {
  return withRestore(job, hooks, signal, async (options, parts, session) => {
    const { runRestore } = await import('../restore/run-restore.ts')
    if (!session) return runRestore(options, parts, signal)
    const { hasRecords } = await refuseUnfit(session, parts, signal)
    const isLeft = hasRecords && !mustRun(session)
    const schemas = await session.run(isLeft)
    // A loss stays one, also where nothing had to be written, or an earlier run has told it.
    const warnings = [...(isLeft ? [IN_USE] : session.findings.map(describeFinding)), ...schemas.warnings]
    for (const message of warnings) parts.onProgress({ type: 'warning', message })
    const report = await runRestore(schemas.options, parts, signal)
    return { ...report, warnings: [...warnings, ...report.warnings], schemas: schemas.report }
  })
}

/** What a restore would do, with all that stands in its way. Neither the store nor the target is changed. */
export function dryRunRestoreJob(job: RestoreJob, signal: AbortSignal): Promise<JobRestoreDryRun> {
  return withRestore(job, quiet, signal, async (options, parts, session) => {
    const { dryRunRestore } = await import('../restore/dry-run.ts')
    if (!session) return dryRunRestore(options, parts, signal)
    const { findings, ...dryRun } = await dryRunRestore(session.foreseen, parts, signal)
    const schemas = describeSchemaPlan(session.survey)
    return { ...dryRun, findings: [...session.findings, ...findings], schemas }
  })
}

/** What keeps the schemas from being looked at is a finding; the rest is looked at without them. */
export async function checkRestoreJob(job: RestoreJob, signal: AbortSignal): Promise<CheckReport> {
  const found = await checkRegistry(job, signal)
  const { enterprise: _, ...plain } = job
  if (found.some(({ allowed }) => !allowed)) return checkWith(plain, found, signal)
  let report: CheckReport | undefined
  const schemas = await attempt('schemas', 'read', signal, async () => {
    report = await checkWith(job, found, signal)
    return ''
  })
  return report ?? checkWith(plain, [...found, schemas], signal)
}

function checkWith(job: RestoreJob, known: readonly Check[], signal: AbortSignal): Promise<CheckReport> {
  return withRestore(job, quiet, signal, async (options, parts, session) => {
    const { checkRestore } = await import('../restore/check.ts')
    const otherChecks = [...known, ...(session ? checkSchemas(session) : [])]
    const findings = session?.findings ?? []
    return checkRestore(session?.foreseen ?? options, { ...parts, findings, otherChecks }, signal)
  })
}

/** That the schemas fit; where they do not, the findings say it. */
function checkSchemas({ survey }: SchemaSession): Check[] {
  const { conflicts, counts } = describeSchemaPlan(survey)
  if (conflicts.length > 0) return []
  const detail = `${counts.register + counts.replace} versions to register, ${counts.keep} are there`
  return [{ subject: 'schemas', action: 'fits', allowed: true, detail }]
}

const IN_USE =
  'the restore is complete, and its registry has changed since: it is left as it is (`schemas restore` would restore it again)'

/**
 * All that stands in the way of data and of schemas is told at once, before the first schema is written. Says whether there
 * are schemas to write though the records are there already, wholly: the registry is in use by then, as the topics are.
 */
async function refuseUnfit(
  session: SchemaSession,
  parts: RestoreParts,
  signal: AbortSignal,
): Promise<{ hasRecords: boolean }> {
  const { conflicts, steps } = session.survey.plan
  if (conflicts.length + steps.length === 0) return { hasRecords: false }
  const [{ isComplete, surveyRestore }, { RestoreRefusal }] = await Promise.all([
    import('../restore/prepare-restore.ts'),
    import('../restore/refusal.ts'),
  ])
  const { plan, progress, preflight } = await surveyRestore(session.foreseen, parts, signal)
  const findings = [...session.findings, ...preflight.findings]
  if (findings.some(({ severity }) => severity === 'error')) throw new RestoreRefusal(findings)
  return { hasRecords: isComplete(plan, progress) }
}

/** What died has to be brought to its end, and what is missing has to come, where nothing has to go for it. */
function mustRun({ survey: { plan, target, options } }: SchemaSession): boolean {
  const there = new Set(target.versions.map(({ subject, version }) => versionKey(subject, version)))
  const removes = plan.steps.some(
    step => step.type === 'delete-version' && step.permanent && there.has(versionKey(step.subject, step.version)),
  )
  return options.unfinished !== undefined || (!removes && plan.steps.some(({ type }) => type === 'register'))
}

/** What reads a backup and works on a target: the options are judged before anything is connected to. */
async function withRestore<T>(
  job: RestoreJob,
  hooks: Hooks,
  signal: AbortSignal,
  work: (options: RestoreOptions, parts: RestoreParts, session: SchemaSession | undefined) => Promise<T>,
): Promise<T> {
  const options = restoreOptions(job)
  const { requestTimeoutMs } = job.target
  return withMetrics(job, hooks, watched =>
    withParts({ ...job, source: job.target }, watched, signal, async parts => {
      await assertExists({ options: job.storage, storage: parts.storage }, signal)
      const restoring = { ...parts, requestTimeoutMs, onProgress: watched.onProgress }
      return withSchemas(job, options, parts, watched, signal, session => work(options, restoring, session))
    }),
  )
}
