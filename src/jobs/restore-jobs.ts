import type { AccessPlan, AccessReport } from '../access/access-plan.ts'
import { versionKey } from '../archive/registry-model.ts'
import type { RestoreJob } from '../config/load-job.ts'
import { KafkaBackupError } from '../errors.ts'
import { attempt, type Check, type CheckReport } from '../observe/check.ts'
import { describeFinding, type Finding } from '../observe/finding.ts'
import type { CarryPlan } from '../offsets/carry-plan.ts'
import { type CarryReport, sumCarried } from '../offsets/carry-report.ts'
import type { SchemaReport } from '../registry/restore/schema-report.ts'
import { describeSchemaPlan, type SchemaDryRun } from '../registry/restore/schema-report.ts'
import type { RestoreDryRun } from '../restore/dry-run.ts'
import type { RestoreOptions } from '../restore/options.ts'
import type { RestoreReport } from '../restore/report.ts'
import type { RestoreParts } from '../restore/run-restore.ts'
import { type AccessSession, openAccessSession } from './access-session.ts'
import { type GroupSession, openGroupSession } from './group-session.ts'
import { withLeaseAt } from './leases.ts'
import { assertExists, type Hooks, quiet, withMetrics, withParts } from './parts.ts'
import { checkRegistry } from './registry-check.ts'
import { restoreOptions } from './restored-jobs.ts'
import { type SchemaSession, withSchemas } from './schema-session.ts'

/** Of data, of consumer groups and, where the job has a registry, of its schemas; of access rules where it asks for them. */
export type JobRestoreReport = RestoreReport & {
  schemas?: SchemaReport
  consumerGroups: CarryReport
  access?: AccessReport
}
export type JobRestoreDryRun = RestoreDryRun & {
  schemas?: SchemaDryRun
  consumerGroups: CarryPlan
  access?: AccessPlan
}

/**
 * Puts a backup back on the target of the job: schemas first, then topics and records, then the positions of consumer
 * groups, then access rules. The store is only read, but for the journal of the schemas.
 */
export function runRestoreJob(job: RestoreJob, hooks: Hooks, signal: AbortSignal): Promise<JobRestoreReport> {
  return withRestore(job, hooks, signal, async (options, parts, session) => {
    const { runRestore } = await import('../restore/run-restore.ts')
    const groups = await openGroupSession(job, session?.foreseen ?? options, parts, signal)
    const access = await openAccessSession(job, session?.foreseen ?? options, parts, signal)
    const beside = [...groups.findings, ...(access?.plan.findings ?? [])]
    const { hasRecords } = await refuseUnfit({ schemas: session, findings: beside, options }, parts, signal)
    for (const finding of beside) parts.onProgress({ type: 'warning', message: describeFinding(finding) })
    if (!session) {
      const report = await withGroups(await runRestore(options, parts, signal), groups, options, parts)
      return withAccess(report, access)
    }
    const isLeft = hasRecords && !mustRun(session)
    const schemas = await session.run(isLeft)
    // A loss stays one, also where nothing had to be written, or an earlier run has told it.
    const warnings = [...(isLeft ? [IN_USE] : session.findings.map(describeFinding)), ...schemas.warnings]
    for (const message of warnings) parts.onProgress({ type: 'warning', message })
    const report = await runRestore(schemas.options, parts, signal).catch(async error => {
      throw await withWritten(error, schemas.report)
    })
    const whole = { ...report, warnings: [...warnings, ...report.warnings], schemas: schemas.report }
    return withAccess(await withGroups(whole, groups, schemas.options, parts), access)
  })
}

/** What a restore would do, with all that stands in its way. Neither the store nor the target is changed. */
export function dryRunRestoreJob(job: RestoreJob, signal: AbortSignal): Promise<JobRestoreDryRun> {
  return withRestore(job, quiet, signal, async (options, parts, session) => {
    const { dryRunRestore } = await import('../restore/dry-run.ts')
    const groups = await openGroupSession(job, session?.foreseen ?? options, parts, signal)
    const { findings, ...dryRun } = await dryRunRestore(session?.foreseen ?? options, parts, signal)
    const access = await openAccessSession(job, session?.foreseen ?? options, parts, signal)
    const found = [...findings, ...groups.findings, ...(access?.plan.findings ?? [])]
    const all = { ...dryRun, consumerGroups: groups.plan, ...(access && { access: access.plan }), findings: found }
    if (!session) return all
    return { ...all, findings: [...session.findings, ...all.findings], schemas: describeSchemaPlan(session.survey) }
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
    // A backup that cannot be read is a finding of the check itself.
    const unread = (error: unknown) => {
      if (error instanceof KafkaBackupError && !signal.aborted) return undefined
      throw error
    }
    const groups = await openGroupSession(job, session?.foreseen ?? options, parts, signal).catch(unread)
    const access = await openAccessSession(job, session?.foreseen ?? options, parts, signal).catch(unread)
    const otherChecks = [...known, ...(session ? checkSchemas(session) : []), ...(access?.checks ?? [])]
    // A permission that is missing for access rules is among their checks.
    const beside = access?.plan.findings.filter(({ code }) => code !== 'KAFKA_DENIED') ?? []
    const findings = [...(session?.findings ?? []), ...(groups?.findings ?? []), ...beside]
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

/** Registering schemas may change the target: what was fit before it may be refused after it, and then the schemas are there. */
async function withWritten(error: unknown, { versions: { register, replace } }: SchemaReport): Promise<unknown> {
  const { RestoreRefusal } = await import('../restore/refusal.ts')
  const count = register + replace
  if (!(error instanceof RestoreRefusal) || count === 0) return error
  const schemas = count === 1 ? '1 schema version was registered' : `${count} schema versions were registered`
  return new RestoreRefusal(error.findings, `${schemas} before this was found, and no record was written.`)
}

const IN_USE =
  'the restore is complete, and its registry has changed since: it is left as it is (`schemas restore` would restore it again)'

/** Positions count only where all records are, and are those of the backup. */
async function withGroups<R extends RestoreReport>(
  report: R,
  groups: GroupSession,
  options: RestoreOptions,
  { onProgress }: RestoreParts,
): Promise<R & { consumerGroups: CarryReport }> {
  const notes = groups.findings.map(describeFinding)
  const told = { ...report, warnings: [...report.warnings, ...notes] }
  if (report.isDone) return { ...told, consumerGroups: await groups.run(options, onProgress) }
  const reason = 'the target differs from the backup'
  return { ...told, consumerGroups: { groups: [], totals: sumCarried([]), reason } }
}

/** Access rules come last: by then all that they speak of is there. */
async function withAccess(report: JobRestoreReport, access: AccessSession | undefined): Promise<JobRestoreReport> {
  if (!access) return report
  const warnings = [...report.warnings, ...access.plan.findings.map(describeFinding)]
  if (report.isDone) return { ...report, warnings, access: await access.run() }
  const totals = { created: 0, kept: 0, differs: 0, cannot: 0, failed: 0 }
  return { ...report, warnings, access: { totals, reason: 'the target differs from the backup' } }
}

/**
 * All that stands in the way of data, of schemas, of groups and of access rules is told at once, before the first write. Says whether there
 * are schemas to write though the records are there already, wholly: the registry is in use by then, as the topics are.
 */
async function refuseUnfit(
  {
    schemas,
    findings: beside,
    options,
  }: { schemas: SchemaSession | undefined; findings: readonly Finding[]; options: RestoreOptions },
  parts: RestoreParts,
  signal: AbortSignal,
): Promise<{ hasRecords: boolean }> {
  const { conflicts, steps } = schemas?.survey.plan ?? { conflicts: [], steps: [] }
  if (conflicts.length + steps.length === 0 && !beside.some(isError)) return { hasRecords: false }
  const [{ isComplete, surveyRestore }, { RestoreRefusal }] = await Promise.all([
    import('../restore/prepare-restore.ts'),
    import('../restore/refusal.ts'),
  ])
  const { plan, progress, preflight } = await surveyRestore(schemas?.foreseen ?? options, parts, signal)
  const findings = [...(schemas?.findings ?? []), ...preflight.findings, ...beside]
  if (findings.some(isError)) throw new RestoreRefusal(findings)
  return { hasRecords: isComplete(plan, progress) }
}

function isError({ severity }: Finding): boolean {
  return severity === 'error'
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
      const claim = { backupId: job.backupId, role: 'reader', kind: 'restore' } as const
      return withLeaseAt(parts.storage, claim, watched, signal, () =>
        withSchemas(job, options, parts, watched, signal, session => work(options, restoring, session)),
      )
    }),
  )
}
