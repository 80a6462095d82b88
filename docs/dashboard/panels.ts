/** What the dashboard shows, from top to bottom; 24 columns are a line. */
export interface PanelRow {
  title: string
  panels: PanelSpec[]
}

export interface PanelSpec {
  title: string
  /** Explains what the panel shows, or what to check next. */
  description: string
  type: 'gauge' | 'stat' | 'timeseries' | 'table'
  width: number
  /** Of Grafana. */
  unit: string
  queries: Query[]
  steps?: ColourStep[]
  min?: number
  max?: number
  /** The text to show while no series has a value. */
  noValue?: string
  /** 0 and 1 as words. */
  words?: [zero: string, one: string]
  stacked?: boolean
}

export interface Query {
  expr: string
  legend: string
}

export interface ColourStep {
  from: number
  colour: 'green' | 'yellow' | 'red'
}

const backups = 'namespace=~"$namespace",backup_name=~"$backup"'
const inNamespace = 'namespace=~"$namespace"'
const backupLegend = '{{namespace}}/{{backup_name}}'
const restoreLegend = '{{namespace}}/{{restore_name}}'

/** Runs are rare: a quantile over minutes would have no data. */
const quantile = (quantile: string, metric: string, by: string, matchers: string) =>
  `histogram_quantile(${quantile}, sum by (${by}, le) (increase(${metric}_bucket{${matchers}}[24h])))`

const overview: PanelRow = {
  title: 'Overview',
  panels: [
    {
      title: 'Backup success rate',
      description: 'Runs of the last 24 hours that succeeded.',
      type: 'gauge',
      width: 6,
      unit: 'percent',
      min: 0,
      max: 100,
      noValue: 'no runs',
      queries: [
        {
          expr: `100 * sum(increase(kafka_backup_backups_total{${backups},outcome="success"}[24h])) / sum(increase(kafka_backup_backups_total{${backups}}[24h]))`,
          legend: 'success rate',
        },
      ],
      steps: [
        { from: 0, colour: 'red' },
        { from: 90, colour: 'yellow' },
        { from: 99, colour: 'green' },
      ],
    },
    {
      title: 'Time since last backup',
      description:
        'Since the end of the last run that succeeded. A backup that never succeeded is not here, but in “Resources that are not ready”.',
      type: 'stat',
      width: 10,
      unit: 's',
      noValue: 'no backup has succeeded yet',
      queries: [
        {
          expr: `time() - max by (namespace, backup_name) (kafka_backup_last_successful_backup_timestamp{${backups}})`,
          legend: backupLegend,
        },
      ],
      steps: [
        { from: 0, colour: 'green' },
        { from: 3600, colour: 'yellow' },
        { from: 7200, colour: 'red' },
      ],
    },
    {
      title: 'Gaps in 24 h',
      description: 'Ranges of offsets that the source lost before they were copied.',
      type: 'stat',
      width: 4,
      unit: 'short',
      queries: [{ expr: `sum(increase(kafka_backup_gaps_total{${backups}}[24h]))`, legend: 'gaps' }],
      steps: [
        { from: 0, colour: 'green' },
        { from: 1, colour: 'red' },
      ],
    },
    {
      title: 'Operator',
      description: 'Whether there is a leader. Standby replicas are normal; no leader is a problem.',
      type: 'stat',
      width: 4,
      unit: 'short',
      noValue: 'down',
      words: ['no leader', 'leads'],
      queries: [{ expr: 'max(kafka_backup_operator_leader)', legend: 'operator' }],
      steps: [
        { from: 0, colour: 'red' },
        { from: 1, colour: 'green' },
      ],
    },
  ],
}

const backupRow: PanelRow = {
  title: 'Backups',
  panels: [
    {
      title: 'Backup duration',
      description: 'p99 and p50 of the runs in the 24 hours before each point, limited by the buckets.',
      type: 'timeseries',
      width: 12,
      unit: 's',
      min: 0,
      queries: [
        {
          expr: quantile('0.99', 'kafka_backup_backup_duration_seconds', 'namespace, backup_name', backups),
          legend: `p99 ${backupLegend}`,
        },
        {
          expr: quantile('0.50', 'kafka_backup_backup_duration_seconds', 'namespace, backup_name', backups),
          legend: `p50 ${backupLegend}`,
        },
      ],
    },
    {
      title: 'Backup size',
      description: 'Size of each backup in the store.',
      type: 'timeseries',
      width: 12,
      unit: 'bytes',
      min: 0,
      queries: [
        {
          expr: `max by (namespace, backup_name) (kafka_backup_backup_size_bytes{${backups},outcome="success"})`,
          legend: backupLegend,
        },
      ],
    },
    {
      title: 'Records backed up per second',
      description: 'Counted as they are copied, or at the end of a run that the operator did not observe.',
      type: 'timeseries',
      width: 12,
      unit: 'suffix: rec/s',
      min: 0,
      queries: [
        {
          expr: `sum by (namespace, backup_name) (rate(kafka_backup_backup_records_total{${backups}}[$__rate_interval]))`,
          legend: backupLegend,
        },
      ],
    },
    {
      title: 'Backup runs',
      description: 'Runs that ended in the hour before each point.',
      type: 'timeseries',
      width: 12,
      unit: 'short',
      min: 0,
      stacked: true,
      queries: [
        {
          expr: `sum by (outcome) (increase(kafka_backup_backups_total{${backups}}[1h]))`,
          legend: '{{outcome}}',
        },
      ],
    },
    {
      title: 'Duration of active runs',
      description: 'How long each active run has taken so far, without continuous backups.',
      type: 'stat',
      width: 8,
      unit: 's',
      noValue: 'no run under way',
      queries: [
        {
          expr: `time() - max by (namespace, backup_name) (kafka_backup_backup_started_timestamp{${backups}})`,
          legend: backupLegend,
        },
      ],
      steps: [
        { from: 0, colour: 'green' },
        { from: 3600, colour: 'red' },
      ],
    },
    {
      title: 'Last verification',
      description: 'Result of the last verification of each backup.',
      type: 'stat',
      width: 8,
      unit: 'short',
      noValue: 'nothing was verified yet',
      words: ['failed', 'whole'],
      queries: [
        {
          expr: `min by (namespace, backup_name) (kafka_backup_last_verify_status{${backups}})`,
          legend: backupLegend,
        },
      ],
      steps: [
        { from: 0, colour: 'red' },
        { from: 1, colour: 'green' },
      ],
    },
    {
      title: 'Time since last verification',
      description: 'Time since a verification last found the backup intact.',
      type: 'stat',
      width: 8,
      unit: 's',
      noValue: 'nothing was verified yet',
      queries: [
        {
          expr: `time() - max by (namespace, backup_name) (kafka_backup_last_verify_timestamp{${backups}})`,
          legend: backupLegend,
        },
      ],
      steps: [
        { from: 0, colour: 'green' },
        { from: 691_200, colour: 'yellow' },
      ],
    },
    {
      title: 'Last drill',
      description: 'Result of the last drill of each backup.',
      type: 'stat',
      width: 8,
      unit: 'short',
      noValue: 'no drill yet',
      words: ['failed', 'proven'],
      queries: [
        {
          expr: `min by (namespace, backup_name) (kafka_backup_last_drill_status{${backups}})`,
          legend: backupLegend,
        },
      ],
      steps: [
        { from: 0, colour: 'red' },
        { from: 1, colour: 'green' },
      ],
    },
    {
      title: 'Time since last successful drill',
      description: 'Time since a drill last proved that the backup can be restored.',
      type: 'stat',
      width: 8,
      unit: 's',
      noValue: 'no drill yet',
      queries: [
        {
          expr: `time() - max by (namespace, backup_name) (kafka_backup_last_successful_drill_timestamp{${backups}})`,
          legend: backupLegend,
        },
      ],
      steps: [
        { from: 0, colour: 'green' },
        { from: 2_764_800, colour: 'yellow' },
      ],
    },
    {
      title: 'Recovery time of the last drill',
      description: 'Time in which the last successful drill restored its part of the backup, without the comparison.',
      type: 'stat',
      width: 8,
      unit: 's',
      noValue: 'no drill yet',
      queries: [
        {
          expr: `max by (namespace, backup_name) (kafka_backup_drill_recovery_seconds{${backups}})`,
          legend: backupLegend,
        },
      ],
      steps: [{ from: 0, colour: 'green' }],
    },
  ],
}

const restoreRow: PanelRow = {
  title: 'Restores',
  panels: [
    {
      title: 'Restore runs',
      description: 'Runs that ended in the hour before each point, dry runs included.',
      type: 'timeseries',
      width: 6,
      unit: 'short',
      min: 0,
      stacked: true,
      queries: [
        {
          expr: `sum by (outcome) (increase(kafka_backup_restores_total{${inNamespace}}[1h]))`,
          legend: '{{outcome}}',
        },
      ],
    },
    {
      title: 'Restore duration',
      description: 'p99 and p50 of the runs of 24 hours before each point.',
      type: 'timeseries',
      width: 6,
      unit: 's',
      min: 0,
      queries: [
        {
          expr: quantile('0.99', 'kafka_backup_restore_duration_seconds', 'namespace, restore_name', inNamespace),
          legend: `p99 ${restoreLegend}`,
        },
        {
          expr: quantile('0.50', 'kafka_backup_restore_duration_seconds', 'namespace, restore_name', inNamespace),
          legend: `p50 ${restoreLegend}`,
        },
      ],
    },
    {
      title: 'Records restored per second',
      description: 'Counted as they are written to the target.',
      type: 'timeseries',
      width: 6,
      unit: 'suffix: rec/s',
      min: 0,
      queries: [
        {
          expr: `sum by (namespace, restore_name) (rate(kafka_backup_restore_records_total{${inNamespace}}[$__rate_interval]))`,
          legend: restoreLegend,
        },
      ],
    },
    {
      title: 'Time since last restore',
      description: 'Test restores regularly, for example once a month.',
      type: 'stat',
      width: 6,
      unit: 's',
      noValue: 'no restore has succeeded yet',
      queries: [
        {
          expr: `time() - max by (namespace, restore_name) (kafka_backup_last_successful_restore_timestamp{${inNamespace}})`,
          legend: restoreLegend,
        },
      ],
    },
  ],
}

export const topRows: PanelRow[] = [overview, backupRow, restoreRow]
