import type { Controller } from '../crd/resource.ts'
import type { ActiveRun, Condition, ConditionType, EndedRun, ResourceStatus } from '../crd/status.ts'
import type { KubeEvent } from '../kube/event-recorder.ts'
import type { Decision } from './decision.ts'
import type { Facts } from './facts.ts'
import { triggerKey } from './run-key.ts'
import { formatTime } from './times.ts'

/** What the status tells that the one before did not. The same status again tells nothing. */
export function planEvents(facts: Facts, decision: Decision, after: ResourceStatus): KubeEvent[] {
  const { before } = facts
  return [
    ...specEvents(facts, after),
    ...conditionEvents(before, after),
    ...readyEvents(before, after),
    ...suspendEvents(facts, after),
    ...scheduleEvents(decision),
    ...triggerEvents(facts, decision),
    ...runEvents(facts, decision, after),
    ...waitEvents(before, after),
  ]
}

function specEvents({ problem, before }: Facts, after: ResourceStatus): KubeEvent[] {
  const ready = conditionOf(after, 'Ready')
  if (!problem || ready?.message !== problem.message || conditionOf(before, 'Ready')?.message === problem.message)
    return []
  return [warning(problem.reason, 'Plan', problem.message)]
}

function conditionEvents(before: ResourceStatus, after: ResourceStatus): KubeEvent[] {
  const [secrets, hadSecrets] = [conditionOf(after, 'SecretsFound'), conditionOf(before, 'SecretsFound')]
  const [license, hadLicense] = [conditionOf(after, 'LicenseFound'), conditionOf(before, 'LicenseFound')]
  const isTold = (now: Condition, then: Condition | undefined) =>
    then?.status === now.status && then.message === now.message
  return [
    ...(secrets?.status === 'False' && !isTold(secrets, hadSecrets)
      ? [warning('SecretMissing', 'LookForSecrets', secrets.message)]
      : []),
    ...(secrets?.status === 'True' && hadSecrets?.status === 'False'
      ? [normal('SecretsFound', 'LookForSecrets', 'The secrets that were missing are there.')]
      : []),
    ...(license?.status === 'False' && !isTold(license, hadLicense)
      ? [warning('LicenseMissing', 'LookForSecrets', license.message)]
      : []),
  ]
}

/** Nothing ends when rounds stay away or a node is lost, so no other event tells of it. */
function readyEvents(before: ResourceStatus, after: ResourceStatus): KubeEvent[] {
  const [ready, was] = [conditionOf(after, 'Ready'), conditionOf(before, 'Ready')]
  if (ready?.reason !== 'RoundOverdue' && ready?.reason !== 'NodeLost') return []
  return ready.reason === was?.reason ? [] : [warning(ready.reason, 'Observe', ready.message)]
}

/** A run that is triggered meanwhile hides the suspension, and does not end it. */
function suspendEvents(facts: Facts, after: ResourceStatus): KubeEvent[] {
  const { before } = facts
  if (isSuspended(after) && !isSuspended(before)) return [normal('Suspended', 'Suspend', 'No new runs start.')]
  if (facts.isSuspended || !isSuspended(before) || after.reason === 'Deleting') return []
  return [normal('Resumed', 'Resume', 'Runs start again.')]
}

function isSuspended(status: ResourceStatus): boolean {
  return status.reason === 'Suspended' || conditionOf(status, 'Scheduled')?.reason === 'Suspended'
}

function scheduleEvents({ main }: Decision): KubeEvent[] {
  const { missed = [], missedMore = false } = main?.times ?? {}
  const skipped = main?.skippedMs
  const named = missed.map(formatTime).join(', ')
  return [
    ...(missed.length > 0
      ? [
          warning(
            'MissedSchedule',
            'Schedule',
            `No run was started for ${named}${missedMore ? ' and later times' : ''}.`,
          ),
        ]
      : []),
    ...(skipped !== undefined
      ? [
          warning(
            'RunSkipped',
            'Schedule',
            `The run of ${formatTime(skipped)} is skipped: the one before is still at work.`,
          ),
        ]
      : []),
  ]
}

/** A value that was used before stands for a run that has ended. */
function triggerEvents({ trigger, before }: Facts, decision: Decision): KubeEvent[] {
  if (trigger === undefined || decision.trigger !== trigger) return []
  if (!before.history?.some(({ run }) => run === triggerKey(trigger))) return []
  return [
    warning('TriggerIgnored', 'Trigger', `The trigger ${JSON.stringify(trigger)} was used before: use a new value.`),
  ]
}

function waitEvents(before: ResourceStatus, after: ResourceStatus): KubeEvent[] {
  const { reason = '', message = '' } = after
  if (reason === before.reason && (reason !== 'DeleteFailed' || message === before.message)) return []
  if (reason === 'DeleteFailed' || reason === 'BackupKept') return [warning(reason, 'Delete', message)]
  return reason === 'Deleting' || reason === 'WaitingForReset' ? [normal(reason, 'Wait', message)] : []
}

function conditionOf({ conditions }: ResourceStatus, type: ConditionType): Condition | undefined {
  return conditions?.find(condition => condition.type === type)
}

function normal(reason: string, action: string, note: string): KubeEvent {
  return { type: 'Normal', reason, action, note }
}

function warning(reason: string, action: string, note: string): KubeEvent {
  return { type: 'Warning', reason, action, note }
}

/** Of runs that started, were tried again, or ended. */
function runEvents(
  { before, controller, isContinuous }: Facts,
  { runs }: Decision,
  after: ResourceStatus,
): KubeEvent[] {
  const told = new Set([...(before.active ?? []), ...(before.history ?? [])].map(({ run }) => run))
  const over = new Set(before.history?.map(({ run }) => run))
  const ended = (after.history ?? []).filter(({ run }) => !over.has(run)).toReversed()
  const started = (after.active ?? []).filter(({ run }) => !told.has(run))
  const going = runs.live.filter(({ purpose, run }) => purpose === 'main' && told.has(run))
  return [
    ...ended.flatMap(run => endEvents(controller, run, isContinuous)),
    ...started.map(run => startEvent(controller, run)),
    ...(going.length > 0 ? retryEvents(controller, before, after) : []),
  ]
}

function startEvent(controller: Controller, run: ActiveRun): KubeEvent {
  const verb = verbOf(controller, run)
  return event('Normal', `${verb}Started`, verb, `The Job ${run.job} was made for the run ${run.run}.`)
}

/** A removal that failed is told with the way out, which the status has. */
function endEvents(controller: Controller, run: EndedRun, isContinuous: boolean): KubeEvent[] {
  if (run.purpose === 'delete' && run.phase === 'Failed') return []
  const verb = verbOf(controller, run)
  const { gaps = 0 } = run
  const gapNote = `The run ${run.run} met ${gaps} gaps: records that were gone before they could be read.`
  return [
    ...(gaps > 0 ? [event('Warning', 'GapFound', verb, gapNote)] : []),
    event(run.phase === 'Failed' ? 'Warning' : 'Normal', endReason(verb, run, isContinuous), verb, endNote(run)),
  ]
}

function endReason(verb: string, { phase, reason, purpose }: EndedRun, isContinuous: boolean): string {
  if (phase === 'Failed' && isContinuous && purpose === 'main') return `${verb}Stalled`
  if (phase === 'Completed') return reason === 'Stopped' ? `${verb}Stopped` : `${verb}Completed`
  return reason === 'Partial' ? `${verb}Partial` : `${verb}Failed`
}

function endNote({ run, phase, reason, message, ...totals }: EndedRun): string {
  const counts = (['records', 'bytes', 'groups'] as const)
    .filter(name => totals[name] !== undefined)
    .map(name => `${totals[name]} ${name}`)
  const done = counts.length > 0 ? `, ${counts.join(', ')}` : ''
  if (phase === 'Completed') return `The run ${run} is complete${done}.${message === undefined ? '' : ` ${message}`}`
  return `The run ${run} failed${done}: ${[reason, message].filter(part => part !== undefined).join(': ')}`
}

/** The message begins with the number of pods that failed; one more is news. */
function retryEvents(controller: Controller, before: ResourceStatus, after: ResourceStatus): KubeEvent[] {
  if (after.reason !== 'Retrying' || failuresOf(after) <= failuresOf(before)) return []
  const verb = verbOf(controller, { purpose: 'main' })
  return [event('Warning', `${verb}Retried`, verb, after.message ?? '')]
}

function failuresOf({ reason, message = '' }: ResourceStatus): number {
  return reason === 'Retrying' ? Number.parseInt(message, 10) || 0 : 0
}

function verbOf(controller: Controller, { purpose }: Pick<ActiveRun, 'purpose'>): string {
  if (purpose === 'verify') return 'Verify'
  return purpose === 'delete' ? 'Delete' : verbs[controller]
}

const verbs = {
  backup: 'Backup',
  restore: 'Restore',
  offset_reset: 'OffsetReset',
  offset_rollback: 'OffsetRollback',
} as const

function event(type: KubeEvent['type'], reason: string, action: string, note: string): KubeEvent {
  return { type, reason, action, note }
}
