import type { Controller, Resource } from '../resource/resource.ts'
import type { Phase } from '../resource/status.ts'
import type { CounterName, HistogramName } from './catalogue.ts'
import type { Labels } from './metric-set.ts'

export const outcomes = ['success', 'failure'] as const

export type Outcome = (typeof outcomes)[number]

/** What a controller's runs are counted in. */
export interface RunSeries {
  runs: CounterName
  duration: HistogramName
  records?: CounterName
  groups?: CounterName
  labels(resource: Resource, outcome: Outcome): Labels
}

export const runSeries: Record<Controller, RunSeries> = {
  backup: {
    runs: 'kafka_backup_backups_total',
    duration: 'kafka_backup_backup_duration_seconds',
    records: 'kafka_backup_backup_records_total',
    labels: (resource, outcome) => ({ ...backupLabels(resource), outcome }),
  },
  restore: {
    runs: 'kafka_backup_restores_total',
    duration: 'kafka_backup_restore_duration_seconds',
    records: 'kafka_backup_restore_records_total',
    labels: (resource, outcome) => ({ restore_name: resource.metadata.name, ...inNamespace(resource), outcome }),
  },
  offset_reset: {
    runs: 'kafka_backup_offset_resets_total',
    duration: 'kafka_backup_offset_reset_duration_seconds',
    groups: 'kafka_backup_offset_reset_groups_total',
    labels: (resource, outcome) => ({
      reset_name: resource.metadata.name,
      ...inNamespace(resource),
      strategy: resource.spec.strategy ?? '',
      outcome,
    }),
  },
  offset_rollback: {
    runs: 'kafka_backup_offset_rollbacks_total',
    duration: 'kafka_backup_offset_rollback_duration_seconds',
    groups: 'kafka_backup_offset_rollback_groups_total',
    labels: (resource, outcome) => ({
      rollback_name: resource.metadata.name,
      ...inNamespace(resource),
      operation: resource.spec.operation ?? 'rollback',
      outcome,
    }),
  },
}

export function backupLabels(resource: Resource): Labels {
  return { backup_name: resource.metadata.name, ...inNamespace(resource) }
}

export function outcomeOf(phase: Phase | undefined): Outcome {
  return phase === 'Completed' ? 'success' : 'failure'
}

function inNamespace({ metadata }: Resource): { namespace: string } {
  return { namespace: metadata.namespace ?? '' }
}
