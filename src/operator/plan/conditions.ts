import type { Condition, ConditionType } from '../crd/status.ts'
import { type Decision, workingRuns } from './decision.ts'
import { drilledVerdict } from './drill-status.ts'
import type { Facts } from './facts.ts'
import type { ShownPhase } from './phase.ts'
import { planReadiness, recoveryPointVerdict, suspendedMessage } from './readiness.ts'
import { lastOf } from './runs.ts'
import { formatTime } from './times.ts'
import { no, unknown, type Verdict, yes } from './verdict.ts'
import { secretsMessage } from './wait.ts'

/** In a fixed order. Conditions that were not observed stay as they were. */
export function planConditions(facts: Facts, decision: Decision, shown: ShownPhase): Condition[] {
  const { ready, reconciling, stalled } = planReadiness(facts, decision, shown)
  const verdicts: [ConditionType, Verdict | undefined][] = [
    ['Ready', ready],
    ['Reconciling', reconciling],
    ['Stalled', stalled],
    ['Progressing', progressVerdict(decision, shown)],
    ['Succeeded', successVerdict(decision)],
    ['RecoveryPoint', recoveryPointVerdict(facts, decision)],
    ['SecretsFound', secretsVerdict(facts, decision)],
    ['Scheduled', scheduledVerdict(facts, decision)],
    ['Verified', verifiedVerdict(facts, decision)],
    ['Drilled', drilledVerdict(facts, decision)],
    ['LicenseFound', licenseVerdict(facts)],
    ['StorageAvailable', facts.storage],
    ['ClusterFound', facts.cluster],
  ]
  return verdicts.flatMap(([type, verdict]) => (verdict ? [conditionOf(facts, type, verdict)] : []))
}

export function conditionOf(
  { before, generation, nowMs }: Pick<Facts, 'before' | 'generation' | 'nowMs'>,
  type: ConditionType,
  verdict: Verdict,
): Condition {
  const known = before.conditions?.find(condition => condition.type === type)
  const isSame = known?.status === verdict.status && known.lastTransitionTime !== undefined
  return {
    type,
    status: verdict.status,
    reason: reasonOf(verdict.reason),
    message: verdict.message,
    lastTransitionTime: isSame ? known.lastTransitionTime : formatTime(nowMs),
    observedGeneration: generation,
  }
}

/** As the API server requires it for conditions. */
function reasonOf(reason: string): string {
  const word = reason.replace(/[^A-Za-z0-9_]/g, '').slice(0, 256)
  return /^[A-Za-z]/.test(word) ? word : `Reason${word}`
}

function progressVerdict(decision: Decision, { phase, reason = phase }: ShownPhase): Verdict {
  const { runs, deletion } = decision
  const live = workingRuns(decision)
  const working = live.filter(({ todo }) => todo === undefined)
  if (working.length > 0) return yes('Running', `Run ${working.map(({ run }) => run).join(', ')} is active.`)
  if (deletion?.phase === 'Running' || runs.lingering.length > 0)
    return yes('Stopping', 'Pods of an earlier run are being stopped.')
  if (live.length > 0)
    return no(reason, `The next Job of run ${live.map(({ run }) => run).join(', ')} cannot start yet.`)
  return no(reason, 'No run is active.')
}

function successVerdict({ runs }: Decision): Verdict {
  const last = lastOf(runs.ended, 'main')
  if (!last) return unknown('NotRun', 'No run has ended yet.')
  if (last.phase === 'Completed') return yes(last.reason ?? 'Completed', last.message ?? `Run ${last.run} is complete.`)
  return no(last.reason ?? 'Failed', last.message ?? `Run ${last.run} failed.`)
}

/** A denied check is not a failure: the kubelet reads the secrets, and the pod reports one that is missing. */
function secretsVerdict(facts: Facts, { starts }: Decision): Verdict | undefined {
  const { missingSecrets, secretsTrouble, isSecretsChecked } = facts
  if (missingSecrets.length > 0) return no('SecretMissing', secretsMessage(facts))
  if (secretsTrouble !== undefined) {
    return unknown('SecretsUnknown', `Cannot check whether the secrets that the spec names exist: ${secretsTrouble}`)
  }
  if (starts.length > 0 || isSecretsChecked) {
    return yes('SecretsFound', 'All secrets that the spec names existed when they were last checked.')
  }
  return facts.before.conditions?.find(({ type }) => type === 'SecretsFound')
}

function scheduledVerdict(
  { isScheduled, isSuspended, problem, schedule }: Facts,
  { main }: Decision,
): Verdict | undefined {
  if (!isScheduled) return undefined
  if (problem && !schedule) return no(problem.reason, problem.message)
  if (isSuspended) return no('Suspended', suspendedMessage)
  return main ? yes('Scheduled', 'Runs start on schedule.') : no('Deleting', 'The resource is being deleted.')
}

function verifiedVerdict({ verify }: Facts, { runs }: Decision): Verdict | undefined {
  const last = lastOf(runs.ended, 'verify')
  if (!last && verify === 'never') return undefined
  if (!last) return unknown('NotVerified', 'The backup has not been verified yet.')
  if (last.phase === 'Completed') return yes('Verified', `Run ${last.run} found the backup intact.`)
  return no(last.reason ?? 'Failed', last.message ?? `Run ${last.run} failed.`)
}

/** No feature needs a license, so this is only reported. */
function licenseVerdict({ resource, isLicenseMissing, licenseTrouble }: Facts): Verdict | undefined {
  const name = resource.spec?.enterprise?.licenseSecret?.name
  if (name === undefined) return undefined
  if (licenseTrouble !== undefined) {
    const message = `Cannot check whether secret ${name} exists: ${licenseTrouble} No feature needs a license.`
    return unknown('LicenseUnknown', message)
  }
  if (!isLicenseMissing) return yes('LicenseFound', `Secret ${name} exists.`)
  return no('LicenseMissing', `Secret ${name} does not exist. No feature needs a license.`)
}
