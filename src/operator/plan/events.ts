import type { Controller } from '../crd/resource.ts'
import type { ActiveRun, Condition, ConditionType, EndedRun, ResourceStatus } from '../crd/status.ts'
import type { KubeEvent } from '../kube/event-recorder.ts'
import type { Decision } from './decision.ts'
import type { Facts } from './facts.ts'
import { triggerKey } from './run-key.ts'
import { formatTime } from './times.ts'

/** Events for what changed between two statuses. The same status produces none. */
export function planEvents(facts: Facts, decision: Decision, after: ResourceStatus): KubeEvent[] {
  const { before } = facts
  return [
    ...specEvents(facts, after),
    ...conditionEvents(before, after),
    ...drillEvents(decision, before, after),
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
  const isReported = (now: Condition, then: Condition | undefined) =>
    then?.status === now.status && then.message === now.message
  return [
    ...(secrets?.status === 'False' && !isReported(secrets, hadSecrets)
      ? [warning('SecretMissing', 'LookForSecrets', secrets.message)]
      : []),
    ...(secrets?.status === 'True' && hadSecrets?.status === 'False'
      ? [normal('SecretsFound', 'LookForSecrets', 'The missing secrets exist now.')]
      : []),
    ...(license?.status === 'False' && !isReported(license, hadLicense)
      ? [warning('LicenseMissing', 'LookForSecrets', license.message)]
      : []),
  ]
}

/** A drill that cannot start ends no run, so no other event reports it. */
function drillEvents({ drill }: Decision, before: ResourceStatus, after: ResourceStatus): KubeEvent[] {
  const message = drill?.lack?.message
  if (message === undefined || before.drill?.message === after.drill?.message) return []
  return [warning('DrillBlocked', 'Drill', message)]
}

/** Missing rounds, a lost node and a changed spec end no run, so no other event reports them. */
function readyEvents(before: ResourceStatus, after: ResourceStatus): KubeEvent[] {
  const [ready, was] = [conditionOf(after, 'Ready'), conditionOf(before, 'Ready')]
  if (!ready || !['RoundOverdue', 'NodeLost', 'SpecChanged'].includes(ready.reason)) return []
  return ready.reason === was?.reason ? [] : [warning(ready.reason, 'Observe', ready.message)]
}

/** A triggered run hides the suspension, but does not end it. */
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
            `Skipped the run of ${formatTime(skipped)}: the previous run is still active.`,
          ),
        ]
      : []),
  ]
}

/** A value that was used before belongs to a run that has ended. */
function triggerEvents({ trigger, before }: Facts, decision: Decision): KubeEvent[] {
  if (trigger === undefined || decision.trigger !== trigger) return []
  if (!before.history?.some(({ run }) => run === triggerKey(trigger))) return []
  return [
    warning('TriggerIgnored', 'Trigger', `The trigger ${JSON.stringify(trigger)} was used before. Use a new value.`),
  ]
}

function waitEvents(before: ResourceStatus, after: ResourceStatus): KubeEvent[] {
  const { reason = '', message = '' } = after
  if (reason === before.reason && (reason !== 'DeleteFailed' || message === before.message)) return []
  if (deletionWarnings.includes(reason)) return [warning(reason, 'Delete', message)]
  if (referenceReasons.includes(reason)) return [warning(reason, 'Wait', message)]
  return waitReasons.includes(reason) ? [normal(reason, 'Wait', message)] : []
}

const waitReasons = ['Deleting', 'WaitingForReset', 'WaitingForRollback', 'EarlierJob']

const deletionWarnings = ['DeleteFailed', 'StorageMoved', 'StorageAddressChanged', 'BackupKept']

/** Why a run waits for what the resource refers to. */
export const referenceReasons = [
  ...['StorageMissing', 'StorageUnavailable', 'StorageUnknown'],
  ...[
    'ClusterMissing',
    'ListenerMissing',
    'ListenerUnsupported',
    'ClusterNotReady',
    'ClusterUnknown',
    'StrimziDisabled',
  ],
]

function conditionOf({ conditions }: ResourceStatus, type: ConditionType): Condition | undefined {
  return conditions?.find(condition => condition.type === type)
}

export function normal(reason: string, action: string, note: string): KubeEvent {
  return { type: 'Normal', reason, action, note }
}

export function warning(reason: string, action: string, note: string): KubeEvent {
  return { type: 'Warning', reason, action, note }
}

/** Runs that started, were retried, or ended. */
function runEvents(
  { before, controller, isContinuous }: Facts,
  { runs }: Decision,
  after: ResourceStatus,
): KubeEvent[] {
  const known = new Set([...(before.active ?? []), ...(before.history ?? [])].map(({ run }) => run))
  const over = new Set(before.history?.map(({ run }) => run))
  const ended = (after.history ?? []).filter(({ run }) => !over.has(run)).toReversed()
  const started = (after.active ?? []).filter(({ run }) => !known.has(run))
  const going = runs.live.filter(({ purpose, run }) => purpose === 'main' && known.has(run))
  return [
    ...ended.flatMap(run => endEvents(controller, run, isContinuous)),
    ...started.map(run => startEvent(controller, run)),
    ...(going.length > 0 ? retryEvents(controller, before, after) : []),
  ]
}

function startEvent(controller: Controller, run: ActiveRun): KubeEvent {
  const verb = verbOf(controller, run)
  return event('Normal', `${verb}Started`, verb, `Created Job ${run.job} for run ${run.run}.`)
}

/** A failed deletion is reported with the status, which says what to do. */
function endEvents(controller: Controller, run: EndedRun, isContinuous: boolean): KubeEvent[] {
  if (run.purpose === 'delete' && run.phase === 'Failed') return []
  const verb = verbOf(controller, run)
  const { gaps = 0 } = run
  const gapNote = `Run ${run.run} found ${gaps} gaps: records that expired before they could be read.`
  return [
    ...(gaps > 0 ? [event('Warning', 'GapFound', verb, gapNote)] : []),
    event(run.phase === 'Failed' ? 'Warning' : 'Normal', endReason(verb, run, isContinuous), verb, endNote(run)),
  ]
}

function endReason(verb: string, { phase, reason, purpose }: EndedRun, isContinuous: boolean): string {
  const isStopped = ['Replaced', 'Cancelled', 'JobRemoved'].includes(reason ?? '')
  if (phase === 'Failed' && isContinuous && purpose === 'main' && !isStopped) return `${verb}Stalled`
  if (phase === 'Completed') return reason === 'Stopped' ? `${verb}Stopped` : `${verb}Completed`
  return reason === 'Partial' ? `${verb}Partial` : `${verb}Failed`
}

function endNote({ run, phase, reason, message, ...totals }: EndedRun): string {
  const counts = (['records', 'bytes', 'groups'] as const)
    .filter(name => totals[name] !== undefined)
    .map(name => `${totals[name]} ${name}`)
  const done = counts.length > 0 ? `, ${counts.join(', ')}` : ''
  if (phase === 'Completed') return `Run ${run} is complete${done}.${message === undefined ? '' : ` ${message}`}`
  return `Run ${run} failed${done}: ${[reason, message].filter(part => part !== undefined).join(': ')}`
}

/** The message starts with the number of failed pods; an event is sent for each new one. */
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
  if (purpose === 'drill') return 'Drill'
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
