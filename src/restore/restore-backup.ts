import type { AccessReport } from '../access/access-plan.ts'
import { runAccess, skippedAccess } from '../access/run-access.ts'
import { describeFinding } from '../observe/finding.ts'
import type { CarryReport } from '../offsets/carry-report.ts'
import type { SchemaReport } from '../registry/restore/schema-report.ts'
import type { Estimate } from './estimate.ts'
import { estimateSurvey, type ProbeRequest, traitsOf } from './estimate-survey.ts'
import { DIFFERS, planEarly, restoreGroups } from './group-step.ts'
import { type Recovery, RecoveryWatch } from './recovery.ts'
import { refuseBlocked } from './refusal.ts'
import type { RestoreReport } from './report.ts'
import { type RecordParts, restoreRecords } from './restore-records.ts'
import { otherIdWarnings, type SchemaResult, withIds, writeSchemas } from './schema-step.ts'
import { type RecordsSurvey, recheckRecords } from './survey-records.ts'
import { type RestoreRequest, type RestoreSurvey, type SurveyParts, surveyRestore } from './survey-restore.ts'

export type RestoreParts = RecordParts &
  Omit<SurveyParts, 'onUnread'> & {
    /** Measures before anything is written, for an estimate that the report compares with what happened. */
    probe?: ProbeRequest
  }

/** Of records and consumer groups, and of schemas and access rules where the job restores them. */
export interface BackupRestoreReport extends RestoreReport {
  schemas?: SchemaReport
  consumerGroups: CarryReport
  access?: AccessReport
  /** Absent where nothing had to be written. */
  recovery?: Recovery
}

/**
 * Restores a backup: one survey of the backup and the target, from which all blockers are reported before anything is
 * written; then schemas, because records carry their IDs; then topics and records; then the committed offsets of consumer
 * groups, which need the offsets of the records; then access rules, when everything that they are about exists.
 */
export async function restoreBackup(
  request: RestoreRequest,
  parts: RestoreParts,
  signal: AbortSignal,
): Promise<BackupRestoreReport> {
  const startedAt = parts.clock.monotonic()
  const survey = await surveyRestore(request, parts, signal)
  const surveyMs = parts.clock.monotonic() - startedAt
  refuseBlocked(survey.findings)
  const estimate = parts.probe && (await estimateSurvey(survey, parts, signal))
  warn(parts, estimate?.problems ?? [])
  return runSurveyed(survey, { surveyMs, ...(estimate && { estimate }) }, parts, signal)
}

interface RunOptions {
  surveyMs: number
  /** The registry may be in use, as after a complete restore. */
  hasRecords?: boolean
  estimate?: Estimate
}

/** Everything after the survey. */
export async function runSurveyed(
  survey: RestoreSurvey,
  { surveyMs, hasRecords = survey.records.isComplete, estimate }: RunOptions,
  parts: RestoreParts,
  signal: AbortSignal,
): Promise<BackupRestoreReport> {
  const watch = new RecoveryWatch(parts.clock)
  const onProgress: RestoreParts['onProgress'] = event => {
    watch.add(event)
    parts.onProgress(event)
  }
  const { schemas, records } = await watch.timeSchemas(() => beginRestore(survey, parts, signal, hasRecords))
  const early = planEarly(survey.groups.plan, records, parts)
  const release: Pick<RecordParts, 'onTopicRestored'> | undefined = early && {
    onTopicRestored: (topic, note, scoped) => early.release(topic, note, scoped),
  }
  const report = await restoreRecords(records, { ...parts, onProgress, ...release }, signal)
  const consumerGroups = await watch.timeGroups(() =>
    restoreGroups(survey.groups.plan, report, { records, early }, parts, signal),
  )
  const access = await restoreAccess(survey, report, parts, signal)
  const recovery = watch.describe(
    { ...report, ...(schemas && { schemas: schemas.report }) },
    traitsOf({ records }),
    estimate,
  )

  return {
    ...report,
    durationMs: surveyMs + report.durationMs,
    warnings: [
      ...(estimate?.problems ?? []),
      ...(schemas?.warnings ?? []),
      ...report.warnings,
      ...survey.groups.findings.map(describeFinding),
      ...(survey.access?.plan.findings ?? []).map(describeFinding),
    ],
    ...(schemas && { schemas: schemas.report }),
    consumerGroups,
    ...(access && { access }),
    ...(recovery && { recovery }),
  }
}

/** Refuses a blocked restore, and registers the schemas, which fixes the IDs that records get. */
export async function beginRestore(
  survey: RestoreSurvey,
  parts: RestoreParts,
  signal: AbortSignal,
  hasRecords = survey.records.isComplete,
): Promise<{ schemas: SchemaResult | undefined; records: RecordsSurvey }> {
  refuseBlocked(survey.findings)
  warn(parts, [...survey.groups.findings, ...(survey.access?.plan.findings ?? [])].map(describeFinding))
  const schemas = await restoreSchemas(survey, hasRecords, parts, signal)
  return { schemas, records: schemas ? await withNewIds(survey, schemas, parts, signal) : survey.records }
}

async function restoreSchemas(
  { schemas, records }: RestoreSurvey,
  hasRecords: boolean,
  parts: RestoreParts,
  signal: AbortSignal,
): Promise<SchemaResult | undefined> {
  if (!schemas || !parts.schemas) return undefined
  const { clock, onProgress } = parts
  const result = await writeSchemas(schemas, hasRecords, { ...parts.schemas, clock, onProgress }, signal)
  const warnings = [...result.warnings, ...otherIdWarnings(records.options, result.report)]
  warn(parts, warnings)
  return { ...result, warnings }
}

/** The survey with the IDs that schemas have now. What was found on the target holds until something was written. */
async function withNewIds(
  { records, schemas }: RestoreSurvey,
  { idMap, hasWritten, report: { versions } }: SchemaResult,
  parts: RestoreParts,
  signal: AbortSignal,
): Promise<RecordsSurvey> {
  const options = schemas ? withIds(records.options, schemas, idMap) : records.options
  if (!hasWritten) return { ...records, options }
  const rechecked = await recheckRecords(records, options, parts, signal)
  const count = versions.register + versions.replace
  refuseBlocked(
    rechecked.preflight.findings,
    `${describeWritten(count)} before this was found; this run wrote no records.`,
  )
  return rechecked
}

/** Settings may have been written without a version. */
function describeWritten(versions: number): string {
  if (versions === 0) return 'The registry was changed'
  return versions === 1 ? '1 schema version was registered' : `${versions} schema versions were registered`
}

async function restoreAccess(
  { access }: RestoreSurvey,
  { isDone }: RestoreReport,
  { cluster }: RestoreParts,
  signal: AbortSignal,
): Promise<AccessReport | undefined> {
  if (!access) return undefined
  return isDone ? runAccess(access.plan, cluster, signal) : skippedAccess(DIFFERS)
}

function warn({ onProgress }: RestoreParts, messages: readonly string[]): void {
  for (const message of messages) onProgress({ type: 'warning', message })
}
