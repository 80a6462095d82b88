import { Counter, Gauge, type GaugeConfiguration, Histogram, Registry } from 'prom-client'
import { type JobMetricName, jobMetrics } from './job-metrics-catalogue.ts'
import type { PartitionBound, ProgressEvent, TopicWindow } from './progress.ts'

/** A call to the store, as far as it is measured. */
export interface MeasuredCall {
  operation: string
  ms: number
  bytes: number
  error?: unknown
}

/** Topics beyond this many share the label `(other)`: a label value lives for as long as the process. */
const MAX_TOPICS = 1000
const WINDOW_START = 'kafka_backup_job_recovery_window_start_timestamp_seconds'
const WINDOW_END = 'kafka_backup_job_recovery_window_end_timestamp_seconds'
const STORE_BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60]

interface PartitionPosition {
  topic: string
  position: bigint
  lastStable: bigint
  highWatermark: bigint
}

/** Turns what a run tells into metrics. */
export class JobMetrics {
  readonly #registry = new Registry()
  readonly #places = new Map<string, PartitionPosition>()
  readonly #topics = new Set<string>()
  /** Labels of topics whose recovery windows are known. */
  #windows: ReadonlySet<string> = new Set()
  readonly #now: () => number
  readonly #gauges = new Map<string, Gauge<string>>()
  readonly #counters = new Map<string, Counter<string>>()
  readonly #durations: Histogram<string>

  constructor({ backupId, version, now }: { backupId: string; version: string; now: () => number }) {
    this.#now = now
    const registers = [this.#registry]
    for (const [name, { type, help, labels }] of Object.entries(jobMetrics)) {
      const options = { name, help, labelNames: [...labels], registers }
      if (type === 'gauge') this.#gauges.set(name, emptyGauge(options))
      else if (type === 'counter') this.#counters.set(name, new Counter(options))
    }
    const name = 'kafka_backup_job_storage_call_duration_seconds'
    const { help, labels } = jobMetrics[name]
    this.#durations = new Histogram({ name, help, labelNames: [...labels], buckets: STORE_BUCKETS, registers })
    this.#set('kafka_backup_job_info', 1, { backup_id: backupId, version })
  }

  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE

  /** The text exposition; lags are summed up for each scrape. */
  async format(): Promise<string> {
    this.#sumLags()
    return this.#registry.metrics()
  }

  onStorageCall({ operation, ms, bytes, error }: MeasuredCall): void {
    this.#durations.observe({ operation }, ms / 1000)
    if (bytes > 0) this.#add('kafka_backup_job_storage_bytes_total', bytes, { operation })
    if (error !== undefined) this.#add('kafka_backup_job_storage_failures_total', 1, { operation })
  }

  onProgress(event: ProgressEvent): void {
    switch (event.type) {
      case 'planned':
        // The bounds of all current partitions follow; removed partitions have no lag.
        this.#places.clear()
        break
      case 'bounds':
        for (const bound of event.partitions) this.#place(bound)
        this.#set('kafka_backup_job_partitions', this.#places.size)
        break
      case 'resumed':
        this.#set('kafka_backup_job_generation', event.generation)
        this.#set('kafka_backup_job_last_commit_timestamp_seconds', Date.parse(event.committedAt) / 1000)
        break
      case 'copied':
        this.#countCopied(event)
        break
      case 'committed':
        this.#add('kafka_backup_job_commits_total', 1)
        this.#set('kafka_backup_job_generation', event.generation)
        this.#set('kafka_backup_job_last_commit_timestamp_seconds', this.#now() / 1000)
        if (event.complete) {
          this.#set('kafka_backup_job_last_up_to_date_timestamp_seconds', this.#now() / 1000)
          for (const topic of this.#windows) this.#set(WINDOW_END, this.#now() / 1000, { topic })
        }
        break
      case 'recovery_windows':
        this.#setWindows(event.topics)
        break
      case 'round':
        this.#add('kafka_backup_job_rounds_total', 1, { outcome: event.ok ? 'success' : 'failure' })
        if (event.ok) this.#set('kafka_backup_job_last_up_to_date_timestamp_seconds', this.#now() / 1000)
        break
      case 'polled':
        this.#set('kafka_backup_job_last_poll_timestamp_seconds', Date.parse(event.at) / 1000)
        break
      case 'gap':
        this.#add('kafka_backup_job_gaps_total', 1, { reason: event.reason })
        break
      case 'retry':
        this.#add('kafka_backup_job_retries_total', 1)
        break
      case 'warning':
        this.#add('kafka_backup_job_warnings_total', 1)
        break
    }
  }

  /** Topics that share a label show the narrowest of their windows. */
  #setWindows(topics: readonly TopicWindow[]): void {
    const windows = new Map<string, { start: number; end: number }>()
    for (const { topic, oldestAt, newestAt } of topics) {
      const label = this.#label(topic)
      const [start, end] = [Date.parse(oldestAt) / 1000, Date.parse(newestAt) / 1000]
      const known = windows.get(label) ?? { start, end }
      windows.set(label, { start: Math.max(known.start, start), end: Math.min(known.end, end) })
    }
    for (const name of [WINDOW_START, WINDOW_END]) this.#gauges.get(name)?.reset()
    this.#windows = new Set(windows.keys())
    for (const [topic, { start, end }] of windows) {
      this.#set(WINDOW_START, start, { topic })
      this.#set(WINDOW_END, end, { topic })
    }
  }

  #countCopied({
    topic,
    partition,
    offsets,
    records,
    bytes,
    isReread,
  }: Extract<ProgressEvent, { type: 'copied' }>): void {
    this.#add('kafka_backup_job_records_total', records, { topic: this.#label(topic) })
    this.#add('kafka_backup_job_bytes_total', bytes, { topic: this.#label(topic) })
    const place = this.#places.get(`${topic}/${partition}`)
    if (place && !isReread) place.position += offsets
  }

  #place({ topic, partition, position, lastStable, highWatermark }: PartitionBound): void {
    const key = `${topic}/${partition}`
    const known = this.#places.get(key)?.position ?? lastStable
    this.#places.set(key, { topic, position: position ?? known, lastStable, highWatermark })
  }

  #sumLags(): void {
    const lags = new Map<string, { end: number; stable: number }>()
    for (const { topic, position, lastStable, highWatermark } of this.#places.values()) {
      const label = this.#label(topic)
      const sum = lags.get(label) ?? { end: 0, stable: 0 }
      sum.end += distance(position, highWatermark)
      sum.stable += distance(position, lastStable)
      lags.set(label, sum)
    }
    for (const name of ['kafka_backup_job_lag_offsets', 'kafka_backup_job_stable_lag_offsets']) {
      this.#gauges.get(name)?.reset()
    }
    for (const [topic, { end, stable }] of lags) {
      this.#set('kafka_backup_job_lag_offsets', end, { topic })
      this.#set('kafka_backup_job_stable_lag_offsets', stable, { topic })
    }
  }

  #label(topic: string): string {
    if (this.#topics.size < MAX_TOPICS) this.#topics.add(topic)
    return this.#topics.has(topic) ? topic : '(other)'
  }

  #set(name: JobMetricName, value: number, labels: Record<string, string> = {}): void {
    this.#gauges.get(name)?.set(labels, value)
  }

  #add(name: JobMetricName, value: number, labels: Record<string, string> = {}): void {
    this.#counters.get(name)?.inc(labels, value)
  }
}

/** A time or a generation that is not known yet is absent, not zero. */
function emptyGauge(options: GaugeConfiguration<string>): Gauge<string> {
  const gauge = new Gauge(options)
  if (options.labelNames?.length === 0) gauge.remove()
  return gauge
}

function distance(from: bigint, to: bigint): number {
  return to > from ? Number(to - from) : 0
}
