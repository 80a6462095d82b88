import { probeBroker } from '../kafka/permissions.ts'
import {
  attempt,
  type Check,
  type CheckReport,
  describeFinding,
  type Finding,
  failedCheck,
} from '../observe/finding.ts'
import { describeSchemaPlan } from '../registry/restore/schema-report.ts'
import type { SchemaSurvey } from './schema-step.ts'
import type { RecordsSurvey } from './survey-records.ts'
import { type RestoreRequest, type RestoreSurvey, type SurveyParts, surveyRestore } from './survey-restore.ts'

/** Checks everything that a restore needs, without writing anything. What cannot be read is a failed check. */
export async function checkRestore(
  request: RestoreRequest,
  { otherChecks = [], ...parts }: SurveyParts & { otherChecks?: readonly Check[] },
  signal: AbortSignal,
): Promise<CheckReport> {
  const { clusterId, brokers } = await parts.cluster.metadata({ topics: [] }, signal)
  const reached = await Promise.all(
    brokers.map(({ id }) =>
      attempt(`broker ${id}`, 'connect', signal, () => probeBroker(parts.cluster, id, 'write', signal)),
    ),
  )
  let survey: RestoreSurvey | undefined
  const unread: Check[] = []
  const onUnread: SurveyParts['onUnread'] = (part, error) => unread.push(failedCheck(part, 'read', error))
  const planned = await attempt(`backup ${request.records.backupId}`, 'read', signal, async () => {
    survey = await surveyRestore(request, { ...parts, onUnread }, signal)
    return describePlan(survey.records)
  })
  const found = survey ? judgeSurvey(survey) : { fits: [], records: [], refused: [], warnings: [] }
  const checks = [...reached, ...otherChecks, ...unread, ...found.fits, planned, ...found.records, ...found.refused]
  return {
    ok: checks.every(({ allowed }) => allowed),
    clusterId,
    brokers: brokers.length,
    checks,
    warnings: found.warnings,
  }
}

function describePlan({ plan, progress, restoreId, isComplete }: RecordsSurvey): string {
  const topics = plan.topics.length === 1 ? '1 topic' : `${plan.topics.length} topics`
  const from = `generation ${plan.generation}, committed at ${plan.generationCreatedAt}, ${topics}`
  if (isComplete) return `${from}; the restore ${restoreId} is complete`
  return progress ? `${from}; continues the restore ${restoreId}` : from
}

function judgeSurvey({ records, schemas, groups, access }: RestoreSurvey) {
  // A permission that is missing for access rules is among their checks.
  const ofAccess = access?.plan.findings.filter(({ code }) => code !== 'KAFKA_DENIED') ?? []
  const others = [...(schemas?.findings ?? []), ...groups.findings, ...ofAccess]
  return {
    fits: [...(schemas ? checkSchemas(schemas) : []), ...(access?.checks ?? [])],
    records: judgeRecords(records),
    refused: others.filter(({ severity }) => severity === 'error').map(refuse),
    warnings: [
      ...others.filter(({ severity }) => severity === 'warning').map(describeFinding),
      ...records.plan.warnings,
      ...records.preflight.findings.filter(({ severity }) => severity === 'warning').map(describeFinding),
    ],
  }
}

/** That the schemas fit; where they do not, the findings say why. */
function checkSchemas({ survey }: SchemaSurvey): Check[] {
  const { conflicts, counts } = describeSchemaPlan(survey)
  if (conflicts.length > 0) return []
  const detail = `${counts.register + counts.replace} versions to register, ${counts.keep} are there`
  return [{ subject: 'schemas', action: 'fits', allowed: true, detail }]
}

/** Permissions one by one; then each topic that fits, and each blocker. */
function judgeRecords({ plan, preflight: { findings }, grants }: RecordsSurvey): Check[] {
  const permissions = grants.map(({ subject, operation, isGranted }) => ({
    subject,
    action: operation,
    allowed: isGranted,
    detail: isGranted ? '' : `grant ${operation} on ${subject}`,
  }))
  const errors = findings.filter(({ severity }) => severity === 'error')
  const others = errors.filter(({ code }) => code !== 'KAFKA_DENIED')
  const blamed = new Set(errors.map(({ subject }) => subject))
  const fit = plan.topics
    .map(({ name }) => `topic ${name}`)
    .filter(subject => !blamed.has(subject))
    .map(subject => ({ subject, action: 'fits', allowed: true, detail: '' }))
  return [...permissions, ...fit, ...others.map(refuse)]
}

function refuse({ subject, problem, remedy, code }: Finding): Check {
  const action = code === 'ARCHIVE_DAMAGED' ? 'intact' : 'fits'
  return { subject, action, allowed: false, detail: remedy === '' ? problem : `${problem}: ${remedy}` }
}
