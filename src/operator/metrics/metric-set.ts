import { Counter, Gauge, Histogram } from 'prom-client'
import type { MetricSpec } from '../../observe/job-metrics-catalogue.ts'
import {
  bucketsOf,
  type CounterName,
  type GaugeName,
  type HistogramName,
  type OperatorMetricName,
  operatorMetrics,
} from './catalogue.ts'

export type Labels = Readonly<Record<string, string>>

/** The metrics of the catalogue. A series exists from the first time it is named; counters show zero at first. */
export class MetricSet {
  readonly #zeroHold: ZeroHold
  readonly #counters = new Map<OperatorMetricName, Counter<string>>()
  readonly #gauges = new Map<OperatorMetricName, Gauge<string>>()
  readonly #histograms = new Map<OperatorMetricName, Histogram<string>>()

  constructor(zeroHold: ZeroHold) {
    this.#zeroHold = zeroHold
    for (const [key, { type, help, labels }] of Object.entries<MetricSpec>(operatorMetrics)) {
      const name = key as OperatorMetricName
      const options = { name, help, labelNames: [...labels], registers: [] }
      if (type === 'counter') this.#counters.set(name, new Counter(options))
      else if (type === 'gauge') this.#gauges.set(name, new Gauge(options))
      else this.#histograms.set(name, new Histogram({ ...options, buckets: bucketsOf(name as HistogramName) }))
    }
  }

  /** Adding 0 creates the series. */
  add(name: CounterName, labels: Labels, value: number): void {
    this.#counters.get(name)?.inc(labels, value)
  }

  set(name: GaugeName, labels: Labels, value: number): void {
    this.#gauges.get(name)?.set(labels, value)
  }

  observe(name: HistogramName, labels: Labels, value: number): void {
    this.#histograms.get(name)?.observe(labels, value)
  }

  /** Creates the series with empty buckets. */
  begin(name: HistogramName, labels: Labels): void {
    this.#histograms.get(name)?.zero(labels)
  }

  remove(name: OperatorMetricName, labels: Labels): void {
    const metric = this.#counters.get(name) ?? this.#gauges.get(name) ?? this.#histograms.get(name)
    metric?.remove(labels)
    this.#zeroHold.forget(seriesKey(name, labels))
  }

  async format(): Promise<string> {
    const names = Object.keys(operatorMetrics) as OperatorMetricName[]
    return formatExposition(await Promise.all(names.map(name => this.#family(name))))
  }

  async #family(name: OperatorMetricName): Promise<Family> {
    const { type, help, labels } = operatorMetrics[name]
    const metric = this.#counters.get(name) ?? this.#gauges.get(name) ?? this.#histograms.get(name)
    const values: Reading[] = (await metric?.get())?.values ?? []
    const samples = values.map(value => toSample(name, labels, value))
    return { name, type, help, samples: type === 'gauge' ? samples : this.#holdBack(name, samples) }
  }

  #holdBack(name: OperatorMetricName, samples: Sample[]): Sample[] {
    const held = new Map<string, boolean>()
    return samples.map(sample => {
      const key = seriesKey(name, sample.labels)
      const isHeld = held.get(key) ?? this.#zeroHold.isHeld(key)
      held.set(key, isHeld)
      return isHeld ? { ...sample, value: 0 } : sample
    })
  }
}

/** A sample of prom-client; the parts of a histogram have separate names. */
interface Reading {
  metricName?: string
  labels: Partial<Record<string, string | number>>
  value: number
}

/** Labels in the order of the catalogue, then `le`. Called often, so it avoids allocations. */
function toSample(name: string, order: readonly string[], { metricName, labels, value }: Reading): Sample {
  const ordered: Record<string, string | number> = {}
  for (const label of order) ordered[label] = labels[label] ?? ''
  if (labels.le !== undefined) ordered.le = labels.le
  return { name: metricName ?? name, labels: ordered, value }
}

/** Labels that are not of the metric, as `le`, do not count. */
export function seriesKey(name: OperatorMetricName, labels: Readonly<Record<string, string | number>>): string {
  let key: string = name
  for (const label of operatorMetrics[name].labels) key += `\n${labels[label]}`
  return key
}

/** Longer than the usual scrape interval, so two Prometheus servers both see the zero. */
const defaultHoldMs = 45_000

/**
 * Prometheus sees no increase when a counter starts with the value 1, so it would miss the first failure of a resource.
 * A series therefore shows zero at its first scrape and for the hold time after it; then the real value appears as an increase.
 */
export class ZeroHold {
  readonly #monotonic: () => number
  readonly #holdMs: number
  /** When each series was first shown. */
  readonly #shownMs = new Map<string, number>()

  constructor({ monotonic, holdMs = defaultHoldMs }: { monotonic: () => number; holdMs?: number }) {
    this.#monotonic = monotonic
    this.#holdMs = holdMs
  }

  /** Called once per scrape and series; the first call starts the hold time. */
  isHeld(series: string): boolean {
    const nowMs = this.#monotonic()
    const shownMs = this.#shownMs.get(series)
    if (shownMs === undefined) this.#shownMs.set(series, nowMs)
    return nowMs - (shownMs ?? nowMs) < this.#holdMs
  }

  /** A later series with the same name is a new one. */
  forget(series: string): void {
    this.#shownMs.delete(series)
  }
}

interface Family {
  name: string
  type: MetricSpec['type']
  help: string
  samples: Sample[]
}

interface Sample {
  /** With its suffix, where it is a part of a histogram. */
  name: string
  labels: Readonly<Record<string, string | number>>
  value: number
}

/** The text format of Prometheus, version 0.0.4. */
function formatExposition(families: readonly Family[]): string {
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
