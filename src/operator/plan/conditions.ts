import { formatDuration } from '../../lib/units.ts'
import type { Condition, ConditionType } from '../crd/status.ts'
import { type Decision, workingRuns } from './decision.ts'
import type { Facts } from './facts.ts'
import { lostPodOf } from './facts.ts'
import type { ShownPhase } from './phase.ts'
import { stalledMessage } from './phase.ts'
import { lastSuccessTime, roundLimitMs } from './rounds.ts'
import { type LiveRun, lastOf } from './runs.ts'
import { formatTime, parseTime } from './times.ts'
import { secretsMessage } from './wait.ts'

/** In a fixed order. Conditions that were not observed stay as they were. */
export function planConditions(facts: Facts, decision: Decision, shown: ShownPhase): Condition[] {
  const verdicts: [ConditionType, Verdict | undefined][] = [
    ['Ready', readyVerdict(facts, decision, shown)],
    ['Progressing', progressVerdict(decision, shown)],
    ['Succeeded', successVerdict(decision)],
    ['Stalled', stalledVerdict(facts, decision)],
    ['SecretsFound', secretsVerdict(facts, decision)],
    ['Scheduled', scheduledVerdict(facts, decision)],
    ['Verified', verifiedVerdict(facts, decision)],
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

/** As the API server requires it for conditions. */
function reasonOf(reason: string): string {
  const word = reason.replace(/[^A-Za-z0-9_]/g, '').slice(0, 256)
  return /^[A-Za-z]/.test(word) ? word : `Reason${word}`
}

function progressVerdict(decision: Decision, { phase, reason = phase }: ShownPhase): Verdict {
  const { runs, deletion } = decision
  const live = workingRuns(decision)
  if (live.length > 0) return yes('Running', `Run ${live.map(({ run }) => run).join(', ')} is active.`)
  if (deletion?.phase === 'Running' || runs.lingering.length > 0) return yes('Stopping', 'A Job is being removed.')
  return no(reason, 'No run is active.')
}

function successVerdict({ runs }: Decision): Verdict {
  const last = lastOf(runs.ended, 'main')
  if (!last) return { status: 'Unknown', reason: 'NotRun', message: 'No run has ended yet.' }
  if (last.phase === 'Completed') return yes(last.reason ?? 'Completed', last.message ?? `Run ${last.run} is complete.`)
  return no(last.reason ?? 'Failed', last.message ?? `Run ${last.run} failed.`)
}

/** For a continuous backup: it stopped, and a user has to act. */
function stalledVerdict({ isContinuous, isSuspended }: Facts, decision: Decision): Verdict | undefined {
  if (!isContinuous) return undefined
  const last = lastOf(decision.runs.ended, 'main')
  const isWorking = workingRuns(decision).some(({ purpose }) => purpose === 'main')
  const isStalled = !isSuspended && !isWorking && last?.phase === 'Failed'
  if (isStalled) return yes(last.reason ?? 'Failed', stalledMessage(last.message))
  return no('NotStalled', 'Pods that fail are replaced.')
}

function secretsVerdict(facts: Facts, { starts }: Decision): Verdict | undefined {
  if (facts.missingSecrets.length > 0) return no('SecretMissing', secretsMessage(facts))
  if (starts.length > 0)
    return yes('SecretsFound', 'All secrets that the spec names existed when the last run started.')
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
  if (!last) return { status: 'Unknown', reason: 'NotVerified', message: 'The backup has not been verified yet.' }
  if (last.phase === 'Completed') return yes('Verified', `Run ${last.run} found the backup intact.`)
  return no(last.reason ?? 'Failed', last.message ?? `Run ${last.run} failed.`)
}

/** No feature needs a license, so this is only reported. */
function licenseVerdict({ resource, isLicenseMissing, licenseTrouble }: Facts): Verdict | undefined {
  const name = resource.spec?.enterprise?.licenseSecret?.name
  if (name === undefined) return undefined
  if (licenseTrouble !== undefined) {
    const message = `Cannot check whether secret ${name} exists: ${licenseTrouble} No feature needs a license.`
    return { status: 'Unknown', reason: 'LicenseUnknown', message }
  }
  if (!isLicenseMissing) return yes('LicenseFound', `Secret ${name} exists.`)
  return no('LicenseMissing', `Secret ${name} does not exist. No feature needs a license.`)
}

const suspendedMessage = 'The resource is suspended. Set spec.suspend to false to let it run.'

/** Whether runs can start and succeed; for a continuous backup, whether its rounds succeed. */
function readyVerdict(facts: Facts, decision: Decision, { phase, reason, message }: ShownPhase): Verdict {
  const { runs, wait, deletion } = decision
  const live = workingRuns(decision)
  const lost = lostPodOf([...live.flatMap(({ jobs }) => jobs), ...runs.lingering], facts.nowMs)
  const last = lastOf(runs.ended, 'main')
  if (deletion) return no(deletion.reason, deletion.message)
  if (wait && wait.reason !== 'WaitingForVerify' && wait.reason !== 'Stopping') return no(wait.reason, wait.message)
  if (lost) return no(lost.reason, lost.message)
  if (facts.isContinuous && !facts.isSuspended) return continuousVerdict(facts, decision, live)
  if (last?.phase === 'Failed') return no(last.reason ?? 'Failed', last.message ?? 'The last run failed.')
  if (facts.isSuspended && facts.isScheduled) return no('Suspended', suspendedMessage)
  if (phase === 'Pending' && reason === 'Suspended') return no('Suspended', message ?? suspendedMessage)
  return yes(last ? 'Completed' : 'Waiting', last ? 'The last run is complete.' : 'Nothing blocks the next run.')
}

/** Stalled, never succeeded, overdue, or healthy. */
function continuousVerdict(facts: Facts, { runs }: Decision, live: readonly LiveRun[]): Verdict {
  const last = lastOf(runs.ended, 'main')
  const run = live.find(({ purpose }) => purpose === 'main')
  if (!run && last?.phase === 'Failed') return no(last.reason ?? 'Failed', stalledMessage(last.message))
  const succeededMs = parseTime(lastSuccessTime(facts, runs.ended))
  const failures = failuresOf(run)
  if (succeededMs === undefined) {
    return no('NoRoundYet', `No round has succeeded yet, so there is nothing to restore.${failures}`)
  }
  if (facts.nowMs - succeededMs <= roundLimitMs(facts.resource)) return yes('RoundsSucceed', 'Rounds succeed in time.')
  const limit = formatDuration(roundLimitMs(facts.resource))
  const cause = failures || ' See the log of its pod.'
  return no('RoundOverdue', `No round has succeeded for more than ${limit}; see lastSuccessfulTime.${cause}`)
}

function failuresOf(run: LiveRun | undefined): string {
  const failed = run?.jobs.find(({ failedPods }) => failedPods !== undefined)?.failedPods
  return failed ? ` Pods that failed and were replaced: ${failed.count}. ${failed.message ?? ''}`.trimEnd() : ''
}

/** A condition without its type and times. */
type Verdict = Pick<Condition, 'status' | 'reason' | 'message'>

function yes(reason: string, message: string): Verdict {
  return { status: 'True', reason, message }
}

function no(reason: string, message: string): Verdict {
  return { status: 'False', reason, message }
}
