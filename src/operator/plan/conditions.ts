import type { Condition, ConditionType } from '../resource/status.ts'
import type { Facts } from './facts.ts'
import { lastOf } from './history.ts'
import { type Outcome, workingRuns } from './outcome.ts'
import type { ShownPhase } from './phase.ts'
import { readyVerdict, suspendedMessage } from './ready.ts'
import { stalledMessage } from './stalled.ts'
import { formatTime } from './times.ts'
import { no, type Verdict, yes } from './verdict.ts'
import { secretsMessage } from './wait.ts'

/** In a fixed order. What nobody looked at stays as it was. */
export function planConditions(facts: Facts, outcome: Outcome, shown: ShownPhase): Condition[] {
  const verdicts: [ConditionType, Verdict | undefined][] = [
    ['Ready', readyVerdict(facts, outcome, shown)],
    ['Progressing', progressVerdict(outcome, shown)],
    ['Succeeded', successVerdict(outcome)],
    ['Stalled', stalledVerdict(facts, outcome)],
    ['SecretsFound', secretsVerdict(facts, outcome)],
    ['Scheduled', scheduledVerdict(facts, outcome)],
    ['Verified', verifiedVerdict(facts, outcome)],
    ['LicenseFound', licenseVerdict(facts)],
  ]
  return verdicts.flatMap(([type, verdict]) => (verdict ? [conditionOf(facts, type, verdict)] : []))
}

function conditionOf({ before, generation, nowMs }: Facts, type: ConditionType, verdict: Verdict): Condition {
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

/** As the API server has it of conditions. */
function reasonOf(reason: string): string {
  const word = reason.replace(/[^A-Za-z0-9_]/g, '').slice(0, 256)
  return /^[A-Za-z]/.test(word) ? word : `Reason${word}`
}

function progressVerdict(outcome: Outcome, { phase, reason = phase }: ShownPhase): Verdict {
  const { runs, deletion } = outcome
  const live = workingRuns(outcome)
  if (live.length > 0) return yes('Running', `The run ${live.map(({ run }) => run).join(', ')} is under way.`)
  if (deletion?.phase === 'Running' || runs.lingering.length > 0) return yes('Stopping', 'A Job is being removed.')
  return no(reason, 'No run is under way.')
}

function successVerdict({ runs }: Outcome): Verdict {
  const last = lastOf(runs.ended, 'main')
  if (!last) return { status: 'Unknown', reason: 'NotRun', message: 'No run has ended yet.' }
  if (last.phase === 'Completed')
    return yes(last.reason ?? 'Completed', last.message ?? `The run ${last.run} is complete.`)
  return no(last.reason ?? 'Failed', last.message ?? `The run ${last.run} failed.`)
}

/** Of a continuous backup: it stopped for good, and somebody has to act. */
function stalledVerdict({ isContinuous, isSuspended }: Facts, outcome: Outcome): Verdict | undefined {
  if (!isContinuous) return undefined
  const last = lastOf(outcome.runs.ended, 'main')
  const isWorking = workingRuns(outcome).some(({ purpose }) => purpose === 'main')
  const isStalled = !isSuspended && !isWorking && last?.phase === 'Failed'
  if (isStalled) return yes(last.reason ?? 'Failed', stalledMessage(last.message))
  return no('NotStalled', 'Pods that fail are replaced.')
}

function secretsVerdict(facts: Facts, { starts }: Outcome): Verdict | undefined {
  if (facts.missingSecrets.length > 0) return no('SecretMissing', secretsMessage(facts))
  if (starts.length > 0)
    return yes('SecretsFound', 'All secrets that the spec names were there when the last run began.')
  return facts.before.conditions?.find(({ type }) => type === 'SecretsFound')
}

function scheduledVerdict(
  { isScheduled, isSuspended, problem, schedule }: Facts,
  { main }: Outcome,
): Verdict | undefined {
  if (!isScheduled) return undefined
  if (problem && !schedule) return no(problem.reason, problem.message)
  if (isSuspended) return no('Suspended', suspendedMessage)
  return main ? yes('Scheduled', 'Runs start by the schedule.') : no('Deleting', 'It is being deleted.')
}

function verifiedVerdict({ verify }: Facts, { runs }: Outcome): Verdict | undefined {
  const last = lastOf(runs.ended, 'verify')
  if (!last && verify === 'never') return undefined
  if (!last) return { status: 'Unknown', reason: 'NotVerified', message: 'It was not verified yet.' }
  if (last.phase === 'Completed') return yes('Verified', `The run ${last.run} found the backup whole.`)
  return no(last.reason ?? 'Failed', last.message ?? `The run ${last.run} failed.`)
}

/** Nothing is locked: it is told, and that is all. */
function licenseVerdict({ resource, isLicenseMissing, licenseTrouble }: Facts): Verdict | undefined {
  const name = resource.spec?.enterprise?.licenseSecret?.name
  if (name === undefined) return undefined
  if (licenseTrouble !== undefined) {
    const message = `The secret ${name} could not be looked for: ${licenseTrouble} Everything works without it.`
    return { status: 'Unknown', reason: 'LicenseUnknown', message }
  }
  if (!isLicenseMissing) return yes('LicenseFound', `The secret ${name} is there.`)
  return no('LicenseMissing', `There is no secret ${name}. Everything works without it: no feature needs a license.`)
}
