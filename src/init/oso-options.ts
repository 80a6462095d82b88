import { isPattern } from '../lib/glob.ts'

export type Section = Record<string, unknown>

/** A map as it is; anything else as an empty one. */
export function sectionOf(value: unknown): Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

export function textOr(value: unknown, other: string): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : other
}

/** What becomes of a field: fields of this program, or a note. */
type Rule = (value: unknown, notes: string[]) => Section

const rename =
  (name: string): Rule =>
  value => ({ [name]: value })

const drop =
  (path: string, why: string): Rule =>
  (_, notes) => {
    notes.push(`${path}: not translated; ${why}`)
    return {}
  }

/** A value that means here what happens anyway; every other one is noted. */
const same =
  (expected: unknown, path: string, why: string): Rule =>
  (value, notes) =>
    value === expected ? {} : drop(path, why)(value, notes)

/** Pure. Every field is translated or noted. */
export function applyRules(rules: Record<string, Rule>, section: Section, at: string, notes: string[]): Section {
  const translated: Section = {}
  for (const [name, value] of Object.entries(section)) {
    if (value === null || value === undefined) continue
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    Object.assign(translated, (rule ?? drop(`${at}.${name}`, 'it has no counterpart'))(value, notes))
  }
  return translated
}

const TUNED = 'backup.memory_budget and connections_per_broker bound the work'
const MiB = 2 ** 20

const backupRules: Record<string, Rule> = {
  compression: (value, notes) =>
    value === 'none' || value === 'zstd'
      ? { compression: value }
      : drop('backup.compression', `${textOr(value, 'the value')} is not available, and the default is used`)(
          value,
          notes,
        ),
  compression_level: drop('backup.compression_level', 'the level is fixed'),
  segment_max_bytes: (value, notes) => {
    const fits = typeof value !== 'number' || (value >= MiB && value <= 4096 * MiB)
    if (fits) return { segment_bytes: value }
    return drop('backup.segment_max_bytes', 'backup.segment_bytes takes 1 MiB to 4 GiB, and the default is used')(
      value,
      notes,
    )
  },
  segment_max_interval_ms: drop('backup.segment_max_interval_ms', 'backup.commit_interval bounds what a crash loses'),
  segment_max_records: drop('backup.segment_max_records', 'backup.segment_bytes bounds the segments'),
  continuous: rename('continuous'),
  poll_interval_ms: drop('backup.poll_interval_ms', 'a continuous run commits every backup.commit_interval'),
  on_missing_topic: rename('missing_topics'),
  start_offset: same('earliest', 'backup.start_offset', 'a backup begins at the start of the log'),
  isolation_level: drop(
    'backup.isolation_level',
    'all records are stored with the outcome of their transactions; a restore writes only committed ones',
  ),
  include_offset_headers: same(
    false,
    'backup.include_offset_headers',
    'records are stored as they are; restore.offset_headers adds headers during a restore',
  ),
  source_cluster_id: drop('backup.source_cluster_id', 'the cluster ID is read from the brokers'),
  include_internal_topics: same(
    false,
    'backup.include_internal_topics',
    'add internal topics to source.topics.include by their full names',
  ),
  internal_topics: drop('backup.internal_topics', 'add internal topics to source.topics.include by their full names'),
  retention: drop('backup.retention', 'retention works by generations; docs/retention.md explains it'),
  stop_at_current_offsets: same(
    true,
    'backup.stop_at_current_offsets',
    'a run that is not continuous ends at the offsets that it found when it began',
  ),
  capture_topic_configs: same(true, 'backup.capture_topic_configs', 'settings of topics are always stored'),
  require_topic_configs: same(
    true,
    'backup.require_topic_configs',
    'a backup always fails if it may not read settings of topics',
  ),
  consumer_group_snapshot: value => (value === false ? { consumer_groups: { include: [] } } : {}),
  checkpoint_interval_secs: drop('backup.checkpoint_interval_secs', 'see backup.commit_interval'),
  sync_interval_secs: drop('backup.sync_interval_secs', 'see backup.commit_interval'),
  max_concurrent_partitions: drop('backup.max_concurrent_partitions', TUNED),
  fetch_max_bytes: drop('backup.fetch_max_bytes', TUNED),
  circuit_breaker: drop('backup.circuit_breaker', 'requests are retried with growing pauses'),
  shutdown_grace_secs: drop('backup.shutdown_grace_secs', 'SIGTERM commits what is stored and ends the run'),
}

/** Pure. */
export function translateBackup(backup: Section, notes: string[]): Section {
  return applyRules(backupRules, backup, 'backup', notes)
}

const restoreRules: Record<string, Rule> = {
  time_window_start: rename('time_window_start'),
  time_window_end: (value, notes) => {
    notes.push('restore.time_window_end: its own millisecond is not restored here; 1 was added')
    return { time_window_end: typeof value === 'number' ? value + 1 : value }
  },
  topic_mapping: rename('topic_mapping'),
  create_topics: rename('create_topics'),
  default_replication_factor: rename('replication_factor'),
  rate_limit_bytes_per_sec: rename('rate_limit'),
  rate_limit_records_per_sec: drop('restore.rate_limit_records_per_sec', 'set restore.rate_limit in bytes a second'),
  restore_id: rename('restore_id'),
  include_original_offset_header: rename('offset_headers'),
  strip_offset_headers: same(
    true,
    'restore.strip_offset_headers',
    'the import removes the headers that OSO kafka-backup added',
  ),
  dry_run: same(false, 'restore.dry_run', 'pass --dry-run on the command line'),
  dry_run_check_segments: drop('restore.dry_run_check_segments', 'run `kafka-backup verify --deep` before the restore'),
  repartitioning: drop('restore.repartitioning', 'see restore.repartition and restore.partition_count'),
  purge_topics: same(false, 'restore.purge_topics', 'a restore never deletes topics; delete them first'),
  rewrite_schema_ids: same(false, 'restore.rewrite_schema_ids', 'see enterprise.schema_registry.restore'),
  schema_id_mapping: drop('restore.schema_id_mapping', 'see enterprise.schema_registry.restore.id_mapping_file'),
  schema_id_rewrite_topics: drop(
    'restore.schema_id_rewrite_topics',
    'see enterprise.schema_registry.restore.rewrite_topics',
  ),
  schema_id_rewrite_strict: drop(
    'restore.schema_id_rewrite_strict',
    'see enterprise.schema_registry.restore.unknown_ids',
  ),
  topic_config_overrides: drop('restore.topic_config_overrides', 'restore.topic_config applies to all topics'),
  restore_topic_configs: same(
    true,
    'restore.restore_topic_configs',
    'created topics get the settings of the source; restore.topic_config changes single ones',
  ),
  existing_topic_config_policy: drop(
    'restore.existing_topic_config_policy',
    'settings of existing topics stay; the dry run lists differences',
  ),
  checkpoint_state: drop('restore.checkpoint_state', 'progress is stored on the target'),
  checkpoint_storage: drop('restore.checkpoint_storage', 'progress is stored on the target'),
  checkpoint_interval_secs: drop('restore.checkpoint_interval_secs', 'see restore.commit_interval'),
  offset_report: drop('restore.offset_report', 'run `kafka-backup offset-map` after the restore'),
  header_preflight: drop('restore.header_preflight', 'a restore reports every blocker before it writes'),
  max_concurrent_partitions: drop('restore.max_concurrent_partitions', TUNED),
  produce_batch_size: drop('restore.produce_batch_size', 'see restore.batch_bytes'),
  produce_max_batch_bytes: drop('restore.produce_max_batch_bytes', 'see restore.batch_bytes'),
  produce_acks: same(-1, 'restore.produce_acks', 'all replicas in sync confirm every write'),
  produce_timeout_ms: drop('restore.produce_timeout_ms', 'see target.request_timeout'),
  idempotent_producer: same(true, 'restore.idempotent_producer', 'writes are always idempotent'),
  circuit_breaker: drop('restore.circuit_breaker', 'requests are retried with growing pauses'),
}

/** Pure. `topics` are those that the restore selects. */
export function translateRestore(restore: Section, topics: readonly unknown[], notes: string[]): Section {
  const { source_partitions, partition_mapping, ...others } = restore
  const { reset_consumer_offsets, auto_consumer_groups, consumer_groups, consumer_group_strategy, ...rest } = others
  const partitions = byTopic('source_partitions', source_partitions, topics, 'restore.partitions', notes)
  const mapping = byTopic('partition_mapping', partition_mapping, topics, 'restore.partition_mapping', notes)
  const groups = { reset_consumer_offsets, auto_consumer_groups, consumer_groups, consumer_group_strategy }
  if (rest.create_topics === undefined) {
    notes.push('restore.create_topics: not set, and topics that the target lacks are created here')
  }
  notes.push('restore.existing_topics: topics with records of others are refused; `append` writes behind them')
  return {
    ...applyRules(restoreRules, rest, 'restore', notes),
    ...(partitions && { partitions }),
    ...(mapping && { partition_mapping: mapping }),
    ...translateGroups(groups, notes),
  }
}

/** A field for all topics there, by topic here: possible only where the job names the topics. */
function byTopic(field: string, value: unknown, topics: readonly unknown[], own: string, notes: string[]) {
  if (value === undefined || value === null || Object.keys(Object(value)).length === 0) return undefined
  const names = topics.filter(one => typeof one === 'string' && !isPattern(one))
  if (names.length > 0 && names.length === topics.length) return Object.fromEntries(names.map(name => [name, value]))
  notes.push(`restore.${field}: not translated, it applies to all topics; set ${own} for each topic`)
  return undefined
}

/** Without a request, OSO kafka-backup leaves groups alone. */
function translateGroups(groups: Section, notes: string[]): Section {
  const { reset_consumer_offsets, auto_consumer_groups, consumer_groups, consumer_group_strategy } = groups
  const named = Array.isArray(consumer_groups) ? consumer_groups : []
  const include = auto_consumer_groups === true ? ['*'] : reset_consumer_offsets === true ? named : []
  if (include.length === 0 && named.length > 0) {
    notes.push('restore.consumer_groups: no group is restored, because reset_consumer_offsets is not true')
  }
  const strategy = consumer_group_strategy ?? 'skip'
  if (strategy !== 'skip') {
    notes.push('restore.consumer_group_strategy: not translated; offsets are mapped from the records that were written')
  }
  return { consumer_groups: { include } }
}
