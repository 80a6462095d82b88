import { jobMetrics, type MetricSpec } from '../src/observe/job-metrics-catalogue.ts'
import { type ProgressField, progressFields } from '../src/observe/job-progress-catalogue.ts'

export function jobMetricsTable(): string {
  const rows = Object.entries<MetricSpec>(jobMetrics).map(
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
