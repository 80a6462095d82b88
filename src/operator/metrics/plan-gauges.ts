import { type Controller, type Resource, resourceKinds } from '../crd/resource.ts'
import { type Condition, type ConditionType, phases } from '../crd/status.ts'
import type { GaugeValue } from './owned-series.ts'
import { outcomeOf, outcomes } from './run-counts.ts'

/** How long it is at most between two runs, where that can be said; see `planExpectedInterval`. */
export interface ExpectedIntervals {
  backup: number | undefined
  verify: number | undefined
  drill: number | undefined
}

/** All that is said of a resource by its spec and status alone, so that it is the same after a restart. */
export function planGauges(controller: Controller, resource: Resource, expected: ExpectedIntervals): GaugeValue[] {
  const { name, namespace = '' } = resource.metadata
  const gauges = resourceGauges(controller, resource)
  if (controller === 'backup') {
    gauges.push(...backupGauges(resource, { backup_name: name, namespace }, expected))
  } else if (controller === 'restore') {
    const labels = { restore_name: name, namespace, outcome: 'success' }
    gauges.push(...time('kafka_backup_last_successful_restore_timestamp', labels, resource.status?.lastSuccessfulTime))
  }
  return gauges
}

function resourceGauges(controller: Controller, { metadata, spec, status }: Resource): GaugeValue[] {
  const kind = resourceKinds()[controller].kind
  const labels = { kind, name: metadata.name, namespace: metadata.namespace ?? '' }
  const current = status?.phase ?? 'Pending'
  const ready = conditionOf(status, 'Ready')
  const isReady = ready?.status === 'True'
  return [
    { name: 'kafka_backup_resource_status', labels: { ...labels, phase: current }, value: isReady ? 1 : 0 },
    { name: 'kafka_backup_resource_running', labels, value: !isReady && ready?.reason === 'Running' ? 1 : 0 },
    { name: 'kafka_backup_resource_suspended', labels, value: spec?.suspend === true ? 1 : 0 },
    ...phases.map(
      (phase): GaugeValue => ({
        name: 'kafka_backup_resource_phase',
        labels: { ...labels, phase },
        value: phase === current ? 1 : 0,
      }),
    ),
  ]
}

function conditionOf(status: Resource['status'], type: ConditionType): Condition | undefined {
  return status?.conditions?.find(condition => condition.type === type)
}

type BackupLabels = { backup_name: string; namespace: string }

function backupGauges(resource: Resource, labels: BackupLabels, expected: ExpectedIntervals): GaugeValue[] {
  const { metadata, spec, status = {} } = resource
  const running = status.active?.find(({ purpose }) => purpose === 'main')
  const started = spec.backup?.continuous ? undefined : running?.startTime
  return [
    ...time('kafka_backup_backup_created_timestamp', labels, metadata.creationTimestamp),
    ...time('kafka_backup_backup_started_timestamp', labels, started),
    ...time('kafka_backup_last_successful_backup_timestamp', labels, status.lastSuccessfulTime),
    ...(status.restarts === undefined
      ? []
      : [{ name: 'kafka_backup_backup_restarts', labels, value: status.restarts } as const]),
    ...recoveryPoint(resource, labels),
    ...sizes(resource, labels),
    ...verifyGauges(resource, labels),
    ...drillGauges(resource, labels),
    ...(spec.suspend ? [] : (status.schedules ?? [])).flatMap(({ purpose, since }) =>
      time('kafka_backup_schedule_since_timestamp', { ...labels, purpose }, since),
    ),
    ...interval({ ...labels, purpose: 'backup' }, expected.backup),
    ...interval({ ...labels, purpose: 'verify' }, expected.verify),
    ...interval({ ...labels, purpose: 'drill' }, expected.drill),
  ]
}

/** Absent before the first run has ended, which has a separate alert, and while it is suspended. */
function recoveryPoint({ spec, status }: Resource, labels: BackupLabels): GaugeValue[] {
  const point = conditionOf(status, 'RecoveryPoint')
  const isEarly = point?.reason === 'NeverSucceeded' && conditionOf(status, 'Succeeded')?.status !== 'False'
  if (point === undefined || isEarly || spec?.suspend === true) return []
  return [{ name: 'kafka_backup_recovery_point_status', labels, value: point.status === 'True' ? 1 : 0 }]
}

/** Of the continuous run under way, or of the last run of each outcome that knew the size. Where the history has forgotten them, the status has the last. */
function sizes({ status = {} }: Resource, labels: BackupLabels): GaugeValue[] {
  const sized = (status.history ?? []).filter(run => run.purpose === 'main' && run.storedBytes !== undefined)
  const kept = sized.length === 0 && status.lastSuccessfulTime !== undefined ? status.storedBytes : undefined
  return outcomes.flatMap((outcome): GaugeValue[] => {
    const run = sized.find(({ phase }) => outcomeOf(phase) === outcome)
    const live = outcome === 'success' ? status.progress?.storedBytes : undefined
    const value = live ?? run?.storedBytes ?? (outcome === 'success' ? kept : undefined)
    return value === undefined
      ? []
      : [{ name: 'kafka_backup_backup_size_bytes', labels: { ...labels, outcome }, value }]
  })
}

function verifyGauges({ status = {} }: Resource, labels: BackupLabels): GaugeValue[] {
  const { history = [], lastVerifyTime } = status
  const runs = history.filter(({ purpose }) => purpose === 'verify')
  const whole = runs.find(({ phase }) => phase === 'Completed')
  const condition = conditionOf(status, 'Verified')?.status ?? 'Unknown'
  const result = runs[0] ? (runs[0].phase === 'Completed' ? 'True' : 'False') : condition
  return [
    ...time('kafka_backup_last_verify_timestamp', labels, lastVerifyTime ?? whole?.completionTime),
    ...(result === 'Unknown'
      ? []
      : [{ name: 'kafka_backup_last_verify_status', labels, value: result === 'True' ? 1 : 0 } as const]),
  ]
}

function drillGauges({ status = {} }: Resource, labels: BackupLabels): GaugeValue[] {
  const { result, lastProvenTime, recoverySeconds } = status.drill ?? {}
  return [
    ...time('kafka_backup_last_successful_drill_timestamp', labels, lastProvenTime),
    ...number('kafka_backup_last_drill_status', labels, result && (result === 'Proven' ? 1 : 0)),
    ...number('kafka_backup_drill_recovery_seconds', labels, recoverySeconds),
  ]
}

function number(name: GaugeValue['name'], labels: GaugeValue['labels'], value: number | undefined): GaugeValue[] {
  return value === undefined ? [] : [{ name, labels, value }]
}

function interval(labels: GaugeValue['labels'], value: number | undefined): GaugeValue[] {
  return value === undefined ? [] : [{ name: 'kafka_backup_expected_interval_seconds', labels, value }]
}

/** A time that is not known is absent, not zero. */
function time(name: GaugeValue['name'], labels: GaugeValue['labels'], text: string | undefined): GaugeValue[] {
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) ? [] : [{ name, labels, value: ms / 1000 }]
}
