import type { Happening } from '../kube/event-recorder.ts'
import type { Condition, ConditionType, ResourceStatus } from '../resource/status.ts'
import type { Facts } from './facts.ts'
import type { Outcome } from './outcome.ts'
import { runEvents } from './run-events.ts'
import { triggerKey } from './run-key.ts'
import { formatTime } from './times.ts'

/** What the status tells that the one before did not. The same status again tells nothing. */
export function planEvents(facts: Facts, outcome: Outcome, after: ResourceStatus): Happening[] {
  const { before } = facts
  return [
    ...specEvents(facts, after),
    ...conditionEvents(before, after),
    ...readyEvents(before, after),
    ...suspendEvents(facts, after),
    ...scheduleEvents(outcome),
    ...triggerEvents(facts, outcome),
    ...runEvents(facts, outcome, after),
    ...waitEvents(before, after),
  ]
}

function specEvents({ problem, before }: Facts, after: ResourceStatus): Happening[] {
  const ready = conditionOf(after, 'Ready')
  if (!problem || ready?.message !== problem.message || conditionOf(before, 'Ready')?.message === problem.message)
    return []
  return [warning(problem.reason, 'Plan', problem.message)]
}

function conditionEvents(before: ResourceStatus, after: ResourceStatus): Happening[] {
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
function readyEvents(before: ResourceStatus, after: ResourceStatus): Happening[] {
  const [ready, was] = [conditionOf(after, 'Ready'), conditionOf(before, 'Ready')]
  if (ready?.reason !== 'RoundOverdue' && ready?.reason !== 'NodeLost') return []
  return ready.reason === was?.reason ? [] : [warning(ready.reason, 'Observe', ready.message)]
}

/** A run that is triggered meanwhile hides the suspension, and does not end it. */
function suspendEvents(facts: Facts, after: ResourceStatus): Happening[] {
  const { before } = facts
  if (isSuspended(after) && !isSuspended(before)) return [normal('Suspended', 'Suspend', 'No new runs start.')]
  if (facts.isSuspended || !isSuspended(before) || after.reason === 'Deleting') return []
  return [normal('Resumed', 'Resume', 'Runs start again.')]
}

function isSuspended(status: ResourceStatus): boolean {
  return status.reason === 'Suspended' || conditionOf(status, 'Scheduled')?.reason === 'Suspended'
}

function scheduleEvents({ main }: Outcome): Happening[] {
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
function triggerEvents({ trigger, before }: Facts, outcome: Outcome): Happening[] {
  if (trigger === undefined || outcome.trigger !== trigger) return []
  if (!before.history?.some(({ run }) => run === triggerKey(trigger))) return []
  return [
    warning('TriggerIgnored', 'Trigger', `The trigger ${JSON.stringify(trigger)} was used before: use a new value.`),
  ]
}

function waitEvents(before: ResourceStatus, after: ResourceStatus): Happening[] {
  const { reason = '', message = '' } = after
  if (reason === before.reason && (reason !== 'DeleteFailed' || message === before.message)) return []
  if (reason === 'DeleteFailed' || reason === 'BackupKept') return [warning(reason, 'Delete', message)]
  return reason === 'Deleting' || reason === 'WaitingForReset' ? [normal(reason, 'Wait', message)] : []
}

function conditionOf({ conditions }: ResourceStatus, type: ConditionType): Condition | undefined {
  return conditions?.find(condition => condition.type === type)
}

function normal(reason: string, action: string, note: string): Happening {
  return { type: 'Normal', reason, action, note }
}

function warning(reason: string, action: string, note: string): Happening {
  return { type: 'Warning', reason, action, note }
}
