import type { PanelRow } from './panels.ts'

const inNamespace = 'namespace=~"$namespace"'

const offsetRow: PanelRow = {
  title: 'Offset operations',
  panels: [
    {
      title: 'Offset resets',
      description: 'Resets that ended in the hour before each point.',
      type: 'timeseries',
      width: 6,
      unit: 'short',
      min: 0,
      stacked: true,
      queries: [
        {
          expr: `sum by (strategy, outcome) (increase(kafka_backup_offset_resets_total{${inNamespace}}[1h]))`,
          legend: '{{strategy}} {{outcome}}',
        },
      ],
    },
    {
      title: 'Consumer groups reset',
      description: 'Groups whose committed offsets were reset in the hour before each point.',
      type: 'timeseries',
      width: 6,
      unit: 'short',
      min: 0,
      queries: [
        {
          expr: `sum by (namespace, reset_name) (increase(kafka_backup_offset_reset_groups_total{${inNamespace}}[1h]))`,
          legend: '{{namespace}}/{{reset_name}}',
        },
      ],
    },
    {
      title: 'Rollbacks and snapshots',
      description: 'Rollbacks, snapshots and verifications of offsets that ended in the hour before each point.',
      type: 'timeseries',
      width: 6,
      unit: 'short',
      min: 0,
      stacked: true,
      queries: [
        {
          expr: `sum by (operation, outcome) (increase(kafka_backup_offset_rollbacks_total{${inNamespace}}[1h]))`,
          legend: '{{operation}} {{outcome}}',
        },
        {
          expr: `sum by (operation) (increase(kafka_backup_offset_rollback_groups_total{${inNamespace}}[1h]))`,
          legend: 'groups, {{operation}}',
        },
      ],
    },
    {
      title: 'Offset operation duration',
      description: 'p99 of the operations of 24 hours before each point.',
      type: 'timeseries',
      width: 6,
      unit: 's',
      min: 0,
      queries: [
        {
          expr: `histogram_quantile(0.99, sum by (strategy, le) (increase(kafka_backup_offset_reset_duration_seconds_bucket{${inNamespace}}[24h])))`,
          legend: 'reset {{strategy}}',
        },
        {
          expr: `histogram_quantile(0.99, sum by (operation, le) (increase(kafka_backup_offset_rollback_duration_seconds_bucket{${inNamespace}}[24h])))`,
          legend: '{{operation}}',
        },
      ],
    },
  ],
}

const operatorRow: PanelRow = {
  title: 'Operator and queue',
  panels: [
    {
      title: 'Reconciliation errors',
      description: 'By controller. Failed reconciliations are retried; the log of the operator has the cause.',
      type: 'timeseries',
      width: 8,
      unit: 'cps',
      min: 0,
      queries: [
        {
          expr: `sum by (controller) (rate(kafka_backup_operator_reconciliation_errors_total{${inNamespace}}[$__rate_interval]))`,
          legend: '{{controller}}',
        },
      ],
    },
    {
      title: 'Reconciliations',
      description: 'Number of reconciliations.',
      type: 'timeseries',
      width: 8,
      unit: 'cps',
      min: 0,
      queries: [
        {
          expr: `sum by (controller) (rate(kafka_backup_operator_reconciliations_total{${inNamespace}}[$__rate_interval]))`,
          legend: '{{controller}}',
        },
      ],
    },
    {
      title: 'Reconciliation duration',
      description: 'p99 by controller.',
      type: 'timeseries',
      width: 8,
      unit: 's',
      min: 0,
      queries: [
        {
          expr: `histogram_quantile(0.99, sum by (controller, le) (rate(kafka_backup_operator_reconciliation_duration_seconds_bucket{${inNamespace}}[$__rate_interval])))`,
          legend: '{{controller}}',
        },
      ],
    },
    {
      title: 'Queue depth',
      description: 'Resources that wait for reconciliation. It should return to 0.',
      type: 'timeseries',
      width: 12,
      unit: 'short',
      min: 0,
      queries: [{ expr: 'sum by (controller) (kafka_backup_operator_workqueue_depth)', legend: '{{controller}}' }],
    },
    {
      title: 'Queue adds and retries',
      description: 'Resources added to the queue, and those added again after a failure.',
      type: 'timeseries',
      width: 12,
      unit: 'cps',
      min: 0,
      queries: [
        {
          expr: 'sum by (controller) (rate(kafka_backup_operator_workqueue_adds_total[$__rate_interval]))',
          legend: 'adds {{controller}}',
        },
        {
          expr: 'sum by (controller) (rate(kafka_backup_operator_workqueue_retries_total[$__rate_interval]))',
          legend: 'retries {{controller}}',
        },
      ],
    },
  ],
}

const resourceRow: PanelRow = {
  title: 'Resources',
  panels: [
    {
      title: 'Resources by phase',
      description: 'How many resources of each kind are in each phase.',
      type: 'timeseries',
      width: 12,
      unit: 'short',
      min: 0,
      stacked: true,
      queries: [
        {
          expr: `sum by (kind, phase) (kafka_backup_resource_phase{${inNamespace}})`,
          legend: '{{kind}} {{phase}}',
        },
      ],
    },
    {
      title: 'Resources that are not ready',
      description: 'kubectl describe shows the cause in the status.',
      type: 'table',
      width: 12,
      unit: 'short',
      noValue: 'all are ready',
      queries: [
        {
          expr: `max by (kind, namespace, name, phase) (kafka_backup_resource_status{${inNamespace}}) == 0 unless on (kind, namespace, name) max by (kind, namespace, name) (kafka_backup_resource_running{${inNamespace}}) == 1`,
          legend: '',
        },
      ],
    },
  ],
}

export const bottomRows: PanelRow[] = [offsetRow, operatorRow, resourceRow]
