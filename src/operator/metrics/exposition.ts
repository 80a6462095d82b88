import type { MetricSpec } from '../../observe/job-metrics-catalogue.ts'

export interface Family {
  name: string
  type: MetricSpec['type']
  help: string
  samples: Sample[]
}

export interface Sample {
  /** With its suffix, where it is a part of a histogram. */
  name: string
  labels: Readonly<Record<string, string | number>>
  value: number
}

/** The text format of Prometheus, version 0.0.4. */
export function formatExposition(families: readonly Family[]): string {
  return families.map(formatFamily).join('\n')
}

function formatFamily({ name, type, help, samples }: Family): string {
  const head = `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`
  return head + samples.map(formatSample).join('')
}

function formatSample({ name, labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(String(text))}"`)
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${formatValue(value)}\n`
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

function formatValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}
