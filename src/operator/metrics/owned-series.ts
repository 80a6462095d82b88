import type { CounterName, GaugeName, HistogramName, OperatorMetricName } from './catalogue.ts'
import { type Labels, type MetricSet, seriesKey } from './metric-set.ts'

export interface GaugeValue {
  name: GaugeName
  labels: Labels
  value: number
}

/** The series of one resource, which go when it goes. */
export class OwnedSeries {
  readonly #metrics: MetricSet
  readonly #series = new Map<string, { name: OperatorMetricName; labels: Labels }>()
  #gauges = new Map<string, { name: OperatorMetricName; labels: Labels }>()

  constructor(metrics: MetricSet) {
    this.#metrics = metrics
  }

  add(name: CounterName, labels: Labels, value: number): void {
    this.#series.set(seriesKey(name, labels), { name, labels })
    this.#metrics.add(name, labels, value)
  }

  observe(name: HistogramName, labels: Labels, value: number): void {
    this.begin(name, labels)
    this.#metrics.observe(name, labels, value)
  }

  /** A histogram without values; one that has some keeps them. */
  begin(name: HistogramName, labels: Labels): void {
    const key = seriesKey(name, labels)
    if (this.#series.has(key)) return
    this.#series.set(key, { name, labels })
    this.#metrics.begin(name, labels)
  }

  /** All gauges of the resource: those of before that are not among them go. */
  show(gauges: readonly GaugeValue[]): void {
    const shown = new Map(gauges.map(({ name, labels }) => [seriesKey(name, labels), { name, labels }]))
    for (const [key, { name, labels }] of this.#gauges) if (!shown.has(key)) this.#metrics.remove(name, labels)
    for (const { name, labels, value } of gauges) this.#metrics.set(name, labels, value)
    this.#gauges = shown
  }

  remove(): void {
    for (const { name, labels } of this.#series.values()) this.#metrics.remove(name, labels)
    this.#series.clear()
    this.show([])
  }
}
