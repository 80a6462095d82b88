import { formatDuration } from '../../lib/units.ts'
import { triggerAnnotation } from '../crd/resource.ts'
import type { EndedRun } from '../crd/status.ts'
import { type Decision, workingRuns } from './decision.ts'
import { type Facts, lostPodOf } from './facts.ts'
import type { ShownPhase } from './phase.ts'
import { stalledMessage } from './phase.ts'
import { lastSuccessTime, roundLimitMs } from './rounds.ts'
import { type LiveRun, lastOf } from './runs.ts'
import { hashSpec } from './spec-hash.ts'
import { isFarAhead, parseTime } from './times.ts'
import { no, type Verdict, yes } from './verdict.ts'

/** The three conditions by which `kubectl wait`, Flux and Argo CD judge a resource. */
export interface Readiness {
  /** A schedule or a continuous backup was accepted and works; a single run has succeeded. */
  ready: Verdict
  /** Not ready, and the operator continues by itself. */
  reconciling: Verdict
  /** Not ready, and a user has to act. */
  stalled: Verdict
}

export function planReadiness(facts: Facts, decision: Decision, shown: ShownPhase): Readiness {
  const ready = readyVerdict(facts, decision, shown)
  const stalled = stalledVerdict(facts, decision, ready)
  return { ready, stalled, reconciling: reconcilingVerdict(facts, decision, ready, stalled) }
}

export const suspendedMessage = 'The resource is suspended. Set spec.suspend to false to let it run.'

/** The previous run or a verification ends by itself. */
const briefWaits = ['WaitingForVerify', 'Stopping']

function readyVerdict(facts: Facts, decision: Decision, { reason, message }: ShownPhase): Verdict {
  const { runs, wait, deletion } = decision
  const live = workingRuns(decision)
  const lost = lostPodOf([...live.flatMap(({ jobs }) => jobs), ...runs.lingering], facts.nowMs)
  if (deletion) return no(deletion.reason, deletion.message)
  if (wait && !briefWaits.includes(wait.reason)) return no(wait.reason, wait.message)
  if (lost) return no(lost.reason, lost.message)
  if (facts.isScheduled) return scheduledVerdict(facts)
  if (!facts.isContinuous) return singleVerdict(facts, decision, reason, message)
  return facts.isSuspended ? yes('Suspended', suspendedMessage) : continuousVerdict(facts, decision, live)
}

/** Its runs are judged by `Succeeded` and `RecoveryPoint`: a failed night must not block the rollout of other changes. */
function scheduledVerdict({ isSuspended }: Facts): Verdict {
  return isSuspended ? yes('Suspended', suspendedMessage) : yes('Accepted', 'Runs start on schedule.')
}

function singleVerdict(facts: Facts, decision: Decision, reason = 'Waiting', message = ''): Verdict {
  if (mainOf(workingRuns(decision))) return no(reason, message)
  const last = lastOf(decision.runs.ended, 'main')
  if (last?.phase === 'Failed') return failed(last)
  if (last && isOutdated(facts, last)) return no('SpecChanged', changedMessage(facts, last))
  if (last) return yes('Completed', last.message ?? 'The last run is complete.')
  return facts.isSuspended ? yes('Suspended', suspendedMessage) : no('Waiting', 'The run has not started yet.')
}

/**
 * A single run is never repeated by a change of its spec: a restore that starts again because of an edit could write to a
 * topic that is in use by then. Fields that do not decide what it does may change.
 */
function isOutdated({ resource, generation }: Facts, last: EndedRun): boolean {
  const isSame = last.generation === undefined || last.generation === generation || last.specHash === undefined
  return !isSame && last.specHash !== hashSpec(resource.spec ?? {})
}

function changedMessage({ apiGroup, generation }: Facts, { run, generation: ran }: EndedRun): string {
  const what = `Run ${run} is complete with generation ${ran} of the spec, but the spec is of generation ${generation} now`
  return `${what}, which has not run. Set the annotation ${triggerAnnotation(apiGroup)} to a new value to run it.`
}

/** Before the first round it is ready unless its pods fail, as the first round of a large cluster takes long. */
function continuousVerdict(facts: Facts, { runs, wait }: Decision, live: readonly LiveRun[]): Verdict {
  const last = lastOf(runs.ended, 'main')
  const run = mainOf(live)
  if (!run && !wait && last?.phase === 'Failed') return no(last.reason ?? 'Failed', stalledMessage(last.message))
  const succeededMs = parseTime(lastSuccessTime(facts, runs.ended))
  const startedMs = parseTime(run?.startTime)
  const times = [succeededMs, startedMs].filter(ms => ms !== undefined && !isFarAhead(facts, ms)).map(Number)
  const isUnknown = times.length === 0 && startedMs === undefined
  const isInTime = isUnknown || facts.nowMs - Math.max(...times) <= roundLimitMs(facts.resource)
  const failures = failuresOf(run)
  if (succeededMs === undefined) return firstRoundVerdict(isInTime, run, failures)
  if (isInTime) return yes('RoundsSucceed', 'Rounds succeed in time.')
  return no('RoundOverdue', `${overdueMessage(facts)}${failures || ' See the log of its pod.'}`)
}

function firstRoundVerdict(isInTime: boolean, run: LiveRun | undefined, failures: string): Verdict {
  const isRunning = run?.jobs.some(({ running }) => running.length > 0) ?? false
  if (failures === '' && (isInTime || isRunning)) return yes('Accepted', 'The first round is not complete yet.')
  return no('NoRoundYet', `No round has succeeded yet, so there is nothing to restore.${failures}`)
}

function overdueMessage({ resource }: Facts): string {
  const limit = formatDuration(roundLimitMs(resource))
  return `No round has succeeded for more than ${limit}; see lastSuccessfulTime.`
}

function failuresOf(run: LiveRun | undefined): string {
  const pods = run?.jobs.find(({ failedPods }) => failedPods !== undefined)?.failedPods
  return pods ? ` Pods that failed and were replaced: ${pods.count}. ${pods.message ?? ''}`.trimEnd() : ''
}

function stalledVerdict(facts: Facts, decision: Decision, ready: Verdict): Verdict {
  const { wait, runs, deletion } = decision
  const last = lastOf(runs.ended, 'main')
  const isOver = deletion === undefined && !mainOf(workingRuns(decision)) && wait === undefined
  const isSingle = !facts.isScheduled && !facts.isContinuous
  if (deletion === undefined && wait?.reason === 'InvalidSpec') return yes('InvalidSpec', wait.message)
  if (isOver && last?.phase === 'Failed' && !facts.isScheduled && !(facts.isContinuous && facts.isSuspended)) {
    return yes(last.reason ?? 'Failed', isSingle ? againMessage(last.message) : stalledMessage(last.message))
  }
  if (isOver && isSingle && ready.reason === 'SpecChanged') return yes('SpecChanged', ready.message)
  const isBlocked = wait !== undefined || ready.reason === 'NodeLost' || ready.reason === 'RoundOverdue'
  const cause = ready.status === 'False' && isBlocked ? `${ready.message} ` : ''
  return no('NotStalled', `${cause}The operator continues by itself.`)
}

/** The API server accepts no other spec for it. */
function againMessage(message = 'The run failed.'): string {
  return `${message} It is not repeated automatically: correct the cause, then set the trigger annotation, or create another resource.`
}

function reconcilingVerdict(facts: Facts, decision: Decision, ready: Verdict, stalled: Verdict): Verdict {
  const { wait, deletion } = decision
  if (deletion) return yes('Deleting', deletion.message)
  const isUnderWay = !facts.isScheduled && !facts.isContinuous && ready.status === 'False'
  const isBlocked = wait !== undefined && !briefWaits.includes(wait.reason)
  const isReplaced = wait !== undefined && facts.isContinuous && !facts.isSuspended
  const isWaiting = isUnderWay || isBlocked || isReplaced || ready.reason === 'NoRoundYet'
  if (stalled.status === 'True' || !isWaiting) return no('Reconciled', 'The operator has nothing to do.')
  return wait ? yes(wait.reason, wait.message) : yes(ready.reason, ready.message)
}

function mainOf(runs: readonly LiveRun[]): LiveRun | undefined {
  return runs.find(({ purpose }) => purpose === 'main')
}

function failed({ reason, message }: EndedRun): Verdict {
  return no(reason ?? 'Failed', message ?? 'The last run failed.')
}

/** Whether a backup has something to restore that is as recent as its schedule promises. */
export function recoveryPointVerdict(facts: Facts, { runs }: Decision): Verdict | undefined {
  const { controller, isContinuous, isSuspended, resource, nowMs } = facts
  if (controller !== 'backup') return undefined
  const time = lastSuccessTime(facts, runs.ended)
  const succeededMs = parseTime(time)
  const last = lastOf(runs.ended, 'main')
  if (succeededMs === undefined)
    return no('NeverSucceeded', 'No run has succeeded yet, so there is nothing to restore.')
  if (isContinuous && !isSuspended && nowMs - succeededMs > roundLimitMs(resource)) {
    return no('RoundOverdue', overdueMessage(facts))
  }
  if (isContinuous && isSuspended) return yes('Available', `The latest recovery point is of ${time}.`)
  if (isContinuous) return yes('Available', 'Rounds succeed; see lastSuccessfulTime.')
  if (last?.phase !== 'Failed') return yes('Available', `The latest recovery point is of ${time}.`)
  return no('LastRunFailed', `The last run failed. The latest recovery point is of ${time}.`)
}
