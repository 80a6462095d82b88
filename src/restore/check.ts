import type { Cluster } from '../kafka/cluster.ts'
import { probeBroker } from '../kafka/permissions.ts'
import type { Clock } from '../lib/clock.ts'
import { attempt, type Check, type CheckReport } from '../observe/check.ts'
import { describeFinding, type Finding } from '../observe/finding.ts'
import type { Storage } from '../storage/storage.ts'
import type { RestoreOptions } from './options.ts'
import { isComplete, type Prepared, surveyRestore } from './prepare-restore.ts'

/** Everything a restore would need, tried out or asked for, without writing anything. All findings at once. */
export async function checkRestore(
  options: RestoreOptions,
  parts: {
    cluster: Cluster
    storage: Storage
    clock: Clock
    findings?: readonly Finding[]
    otherChecks?: readonly Check[]
  },
  signal: AbortSignal,
): Promise<CheckReport> {
  const { clusterId, brokers } = await parts.cluster.metadata({ topics: [] }, signal)
  const reached = await Promise.all(
    brokers.map(({ id }) =>
      attempt(`broker ${id}`, 'connect', signal, async () => `${await probeBroker(parts.cluster, id, signal)} answers`),
    ),
  )
  let survey: Prepared | undefined
  const planned = await attempt(`backup ${options.backupId}`, 'read', signal, async () => {
    survey = await surveyRestore(options, parts, signal)
    return describePlan(survey)
  })
  const others = parts.findings ?? []
  const refused = others.filter(({ severity }) => severity === 'error').map(refuse)
  const checks = [...reached, ...(parts.otherChecks ?? []), planned, ...(survey ? judge(survey) : []), ...refused]
  return {
    ok: checks.every(({ allowed }) => allowed),
    clusterId,
    brokers: brokers.length,
    checks,
    warnings: [
      ...others.filter(({ severity }) => severity === 'warning').map(describeFinding),
      ...(survey ? warningsOf(survey) : []),
    ],
  }
}

function describePlan({ plan, progress, restoreId }: Prepared): string {
  const from = `generation ${plan.generation}, ${plan.topics.length} topics`
  if (isComplete(plan, progress)) return `${from}; the restore ${restoreId} is complete`
  return progress ? `${from}; continues the restore ${restoreId}` : from
}

/** Permissions one by one; of the rest what stands in the way, or that nothing does. */
function judge({ plan, preflight: { findings }, grants }: Prepared): Check[] {
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

function warningsOf({ plan, preflight }: Prepared): string[] {
  const found = preflight.findings.filter(({ severity }) => severity === 'warning')
  return [...plan.warnings, ...found.map(describeFinding)]
}
