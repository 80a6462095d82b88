import { jobMetrics, type MetricSpec } from '../src/observe/job-metrics-catalogue.ts'

export function jobMetricsTable(): string {
  const rows = Object.entries<MetricSpec>(jobMetrics).map(
    ([name, { type, labels, help }]) =>
      `| \`${name}\` | ${type} | ${labels.map(l => `\`${l}\``).join(', ')} | ${help} |`,
  )
  return ['| Metric | Type | Labels | Meaning |', '|---|---|---|---|', ...rows].join('\n')
}
