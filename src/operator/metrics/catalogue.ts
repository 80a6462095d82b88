import type { MetricSpec } from '../../observe/job-metrics-catalogue.ts'

const reconciliation = ['controller', 'namespace', 'name'] as const
const backup = ['backup_name', 'namespace'] as const
const backupOutcome = ['backup_name', 'namespace', 'outcome'] as const
const restoreOutcome = ['restore_name', 'namespace', 'outcome'] as const
const reset = ['reset_name', 'namespace', 'strategy', 'outcome'] as const
const rollback = ['rollback_name', 'namespace', 'operation', 'outcome'] as const
const resource = ['kind', 'name', 'namespace', 'phase'] as const

/** Every metric of the operator; docs/monitoring.md is generated from this table. */
export const operatorMetrics = {
  kafka_backup_operator_reconciliations_total: {
    type: 'counter',
    help: 'Number of reconciliations, failed ones included.',
    labels: reconciliation,
  },
  kafka_backup_operator_reconciliation_errors_total: {
    type: 'counter',
    help: 'Number of failed reconciliations, which are retried.',
    labels: reconciliation,
  },
  kafka_backup_operator_reconciliation_duration_seconds: {
    type: 'histogram',
    help: 'Duration of a reconciliation.',
    labels: reconciliation,
  },
  kafka_backup_operator_workqueue_depth: {
    type: 'gauge',
    help: 'Resources that wait for reconciliation.',
    labels: ['controller'],
  },
  kafka_backup_operator_workqueue_adds_total: {
    type: 'counter',
    help: 'Resources added to the queue.',
    labels: ['controller'],
  },
  kafka_backup_operator_workqueue_retries_total: {
    type: 'counter',
    help: 'Resources added to the queue again after a failure.',
    labels: ['controller'],
  },
  kafka_backup_operator_leader: {
    type: 'gauge',
    help: '1 for the leader, which reports the resources, 0 for a standby. `lease` is namespace/name of the Lease that the replicas of an installation share; empty without leader election.',
    labels: ['lease'],
  },
  kafka_backup_operator_namespace_readable: {
    type: 'gauge',
    help: '1 if the operator can watch the resources, Jobs and pods of the namespace, 0 if not; nothing in it runs then. `*` means all namespaces of the cluster.',
    labels: ['namespace'],
  },
  kafka_backup_operator_build_info: {
    type: 'gauge',
    help: 'Always 1; the label is the version of the program.',
    labels: ['version'],
  },
  kafka_backup_backups_total: {
    type: 'counter',
    help: 'Backup runs that ended, by outcome (success, failure).',
    labels: backupOutcome,
  },
  kafka_backup_backup_duration_seconds: {
    type: 'histogram',
    help: 'Duration of backup runs.',
    labels: backupOutcome,
  },
  kafka_backup_backup_size_bytes: {
    type: 'gauge',
    help: 'Size of the backup in the store, with all kept generations, at the end of the last run with this outcome. A continuous run measures it once an hour.',
    labels: backupOutcome,
  },
  kafka_backup_backup_records_total: {
    type: 'counter',
    help: 'Records backed up. Records of an active run count as success immediately; its end adds the rest to its outcome.',
    labels: backupOutcome,
  },
  kafka_backup_last_successful_backup_timestamp: {
    type: 'gauge',
    help: 'End of the last successful backup run, in seconds since the epoch; absent before the first.',
    labels: backup,
  },
  kafka_backup_backup_started_timestamp: {
    type: 'gauge',
    help: 'Start of the active backup run, in seconds since the epoch; absent without one, and for continuous backups.',
    labels: backup,
  },
  kafka_backup_backup_created_timestamp: {
    type: 'gauge',
    help: 'When the resource was created, in seconds since the epoch.',
    labels: backup,
  },
  kafka_backup_expected_interval_seconds: {
    type: 'gauge',
    help: 'Maximum time between two successes, by purpose (backup, verify, drill): the longest pause of the schedule, or the maximum time of a continuous backup without a successful round. 0 for a backup that runs once or has an invalid schedule; absent while suspended.',
    labels: ['backup_name', 'namespace', 'purpose'],
  },
  kafka_backup_schedule_since_timestamp: {
    type: 'gauge',
    help: 'Since when the current schedule of verifications or drills applies, by purpose (verify, drill), in seconds since the epoch: when it was set, or when the resource was resumed; the earlier time if a run was due before that and has not succeeded. Absent without one, and while suspended.',
    labels: ['backup_name', 'namespace', 'purpose'],
  },
  kafka_backup_backup_restarts: {
    type: 'gauge',
    help: 'Pods of the current backup run that failed and were replaced; absent while no run is active.',
    labels: backup,
  },
  kafka_backup_gaps_total: {
    type: 'counter',
    help: 'Ranges of offsets that the source lost before backup runs read them.',
    labels: backup,
  },
  kafka_backup_last_verify_timestamp: {
    type: 'gauge',
    help: 'When a verification last found the backup intact, in seconds since the epoch; absent before the first time.',
    labels: backup,
  },
  kafka_backup_last_verify_status: {
    type: 'gauge',
    help: '1 if the last verification found the backup intact, 0 if not; absent before the first.',
    labels: backup,
  },
  kafka_backup_verify_failures_total: {
    type: 'counter',
    help: 'Verifications that found damage or failed.',
    labels: backup,
  },
  kafka_backup_last_successful_drill_timestamp: {
    type: 'gauge',
    help: 'When a drill last proved that the backup can be restored, in seconds since the epoch; absent before the first time.',
    labels: backup,
  },
  kafka_backup_last_drill_status: {
    type: 'gauge',
    help: '1 if the last drill proved that the backup can be restored, 0 if not; absent before the first.',
    labels: backup,
  },
  kafka_backup_drill_recovery_seconds: {
    type: 'gauge',
    help: 'Time in which the last successful drill restored its part of the backup, without the comparison; absent before the first.',
    labels: backup,
  },
  kafka_backup_drill_failures_total: {
    type: 'counter',
    help: 'Drills that found a difference or failed. Only for backups with `spec.drill`.',
    labels: backup,
  },
  kafka_backup_restores_total: {
    type: 'counter',
    help: 'Restore runs that ended, by outcome (success, failure). Dry runs count too.',
    labels: restoreOutcome,
  },
  kafka_backup_restore_duration_seconds: {
    type: 'histogram',
    help: 'Duration of restore runs.',
    labels: restoreOutcome,
  },
  kafka_backup_restore_records_total: {
    type: 'counter',
    help: 'Records restored. Records of an active run count as success immediately; its end adds the rest to its outcome.',
    labels: restoreOutcome,
  },
  kafka_backup_last_successful_restore_timestamp: {
    type: 'gauge',
    help: 'End of the last successful restore run, in seconds since the epoch; absent before the first. Dry runs do not count. The outcome is always success.',
    labels: restoreOutcome,
  },
  kafka_backup_offset_resets_total: {
    type: 'counter',
    help: 'Resets of consumer groups that ended, by outcome (success, failure). Dry runs count too.',
    labels: reset,
  },
  kafka_backup_offset_reset_duration_seconds: {
    type: 'histogram',
    help: 'Duration of consumer-group resets.',
    labels: reset,
  },
  kafka_backup_offset_reset_groups_total: {
    type: 'counter',
    help: 'Consumer groups whose committed offsets were reset.',
    labels: reset,
  },
  kafka_backup_offset_rollbacks_total: {
    type: 'counter',
    help: 'Rollbacks, snapshots and verifications of committed offsets that ended, by operation and outcome (success, failure).',
    labels: rollback,
  },
  kafka_backup_offset_rollback_duration_seconds: {
    type: 'histogram',
    help: 'Duration of rollbacks, snapshots and verifications of committed offsets.',
    labels: rollback,
  },
  kafka_backup_offset_rollback_groups_total: {
    type: 'counter',
    help: 'Consumer groups whose committed offsets were rolled back, kept by a snapshot or compared with one.',
    labels: rollback,
  },
  kafka_backup_recovery_point_status: {
    type: 'gauge',
    help: '1 if the backup has a current recovery point, 0 if its last run failed or its rounds are overdue. Absent before the first run has ended, and while it is suspended.',
    labels: ['backup_name', 'namespace'],
  },
  kafka_backup_resource_status: {
    type: 'gauge',
    help: '1 if the resource is ready, 0 if not: one series for each resource, with its current phase.',
    labels: resource,
  },
  kafka_backup_resource_running: {
    type: 'gauge',
    help: '1 while the only run of a resource makes progress, so that the resource cannot be ready yet, 0 otherwise.',
    labels: ['kind', 'name', 'namespace'],
  },
  kafka_backup_resource_suspended: {
    type: 'gauge',
    help: '1 if the resource is suspended by its spec, 0 if not.',
    labels: ['kind', 'name', 'namespace'],
  },
  kafka_backup_resource_phase: {
    type: 'gauge',
    help: '1 for the current phase of the resource, 0 for the other three.',
    labels: resource,
  },
} as const satisfies Record<string, MetricSpec>

export type OperatorMetricName = keyof typeof operatorMetrics

type NamesOf<Type> = {
  [Name in OperatorMetricName]: (typeof operatorMetrics)[Name]['type'] extends Type ? Name : never
}[OperatorMetricName]

export type CounterName = NamesOf<'counter'>
export type GaugeName = NamesOf<'gauge'>
export type HistogramName = NamesOf<'histogram'>

/** Of runs: one second to twelve hours. Alerts count what is above one of them, so each is a possible threshold. */
export const runBuckets = [1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 21_600, 43_200]

const reconciliationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

export function bucketsOf(name: HistogramName): number[] {
  return name === 'kafka_backup_operator_reconciliation_duration_seconds' ? reconciliationBuckets : runBuckets
}
