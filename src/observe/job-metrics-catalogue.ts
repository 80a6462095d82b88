/** Every metric of a running job; docs/metrics.md is generated from this table. */
export interface MetricSpec {
  type: 'counter' | 'gauge' | 'histogram'
  help: string
  labels: readonly string[]
}

export const jobMetrics = {
  kafka_backup_job_info: {
    type: 'gauge',
    help: 'Always 1; its labels name the backup and the version of the program.',
    labels: ['backup_id', 'version'],
  },
  kafka_backup_job_partitions: { type: 'gauge', help: 'Partitions that are being backed up.', labels: [] },
  kafka_backup_job_records_total: { type: 'counter', help: 'Records copied since the start.', labels: ['topic'] },
  kafka_backup_job_bytes_total: {
    type: 'counter',
    help: 'Bytes of record batches copied since the start, as the brokers sent them.',
    labels: ['topic'],
  },
  kafka_backup_job_lag_offsets: {
    type: 'gauge',
    help: 'Offsets between what is copied and the end of the log (high watermark), summed over the partitions.',
    labels: ['topic'],
  },
  kafka_backup_job_stable_lag_offsets: {
    type: 'gauge',
    help: 'Offsets between what is copied and the last stable offset, beyond which transactions are still open.',
    labels: ['topic'],
  },
  kafka_backup_job_generation: { type: 'gauge', help: 'The newest committed generation.', labels: [] },
  kafka_backup_job_commits_total: { type: 'counter', help: 'Generations committed since the start.', labels: [] },
  kafka_backup_job_last_commit_timestamp_seconds: {
    type: 'gauge',
    help: 'When the newest generation was committed, in seconds since the epoch.',
    labels: [],
  },
  kafka_backup_job_last_up_to_date_timestamp_seconds: {
    type: 'gauge',
    help: 'When the backup last held all that the source had at the beginning of a round, in seconds since the epoch.',
    labels: [],
  },
  kafka_backup_job_last_poll_timestamp_seconds: {
    type: 'gauge',
    help: 'When a continuous run last read the schema registry, consumer groups, topic settings and access rules of its newest generations, in seconds since the epoch.',
    labels: [],
  },
  kafka_backup_job_recovery_window_start_timestamp_seconds: {
    type: 'gauge',
    help: 'When the oldest complete generation that holds the topic was committed, in seconds since the epoch. A continuous run reads it once an hour.',
    labels: ['topic'],
  },
  kafka_backup_job_recovery_window_end_timestamp_seconds: {
    type: 'gauge',
    help: 'When the newest complete generation that holds the topic was committed, in seconds since the epoch.',
    labels: ['topic'],
  },
  kafka_backup_job_rounds_total: {
    type: 'counter',
    help: 'Rounds of a continuous run, by outcome (success, failure).',
    labels: ['outcome'],
  },
  kafka_backup_job_gaps_total: {
    type: 'counter',
    help: 'Ranges of offsets that the source lost before they were read, found since the start.',
    labels: ['reason'],
  },
  kafka_backup_job_retries_total: { type: 'counter', help: 'Requests that are made again after trouble.', labels: [] },
  kafka_backup_job_warnings_total: { type: 'counter', help: 'Warnings since the start.', labels: [] },
  kafka_backup_job_storage_call_duration_seconds: {
    type: 'histogram',
    help: 'How long calls to the store took, retries included.',
    labels: ['operation'],
  },
  kafka_backup_job_storage_failures_total: {
    type: 'counter',
    help: 'Calls to the store that failed, retries included.',
    labels: ['operation'],
  },
  kafka_backup_job_storage_bytes_total: {
    type: 'counter',
    help: 'Bytes of objects moved to and from the store.',
    labels: ['operation'],
  },
} as const satisfies Record<string, MetricSpec>

export type JobMetricName = keyof typeof jobMetrics
