import { jobMetrics, type MetricSpec } from '../src/observe/job-metrics-catalogue.ts'
import { type ProgressField, progressFields } from '../src/observe/job-progress.ts'
import { operatorMetrics } from '../src/operator/metrics/catalogue.ts'

export function jobMetricsTable(): string {
  return metricsTable(jobMetrics)
}

export function operatorMetricsTable(): string {
  return metricsTable(operatorMetrics)
}

function metricsTable(metrics: Record<string, MetricSpec>): string {
  const rows = Object.entries(metrics).map(
    ([name, { type, labels, help }]) =>
      `| \`${name}\` | ${type} | ${labels.map(l => `\`${l}\``).join(', ')} | ${help} |`,
  )
  return ['| Metric | Type | Labels | Meaning |', '|---|---|---|---|', ...rows].join('\n')
}

export function progressFieldsTable(): string {
  const rows = Object.entries<ProgressField>(progressFields).map(
    ([name, { type, isNullable, help }]) => `| \`${name}\` | ${type}${isNullable ? ' or null' : ''} | ${help} |`,
  )
  return ['| Field | Type | Meaning |', '|---|---|---|', ...rows].join('\n')
}
