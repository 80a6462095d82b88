export type Section = Record<string, unknown>

/** A map as it is; anything else as an empty one. */
export function sectionOf(value: unknown): Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

/** What becomes of a field: other fields, or a note. Undefined fields need neither. */
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
const ignore: Rule = () => ({})

function apply(rules: Record<string, Rule>, section: Section, at: string, notes: string[]): Section {
  const translated: Section = {}
  for (const [name, value] of Object.entries(section)) {
    if (value === null || value === undefined) continue
    Object.assign(translated, (rules[name] ?? drop(`${at}.${name}`, 'it has no counterpart'))(value, notes))
  }
  return translated
}

const backupRules: Record<string, Rule> = {
  compression: (value, notes) => {
    if (value === 'none' || value === 'zstd') return { compression: value }
    notes.push(`backup.compression: ${value} is not available; the default is used`)
    return {}
  },
  segment_max_bytes: rename('segment_bytes'),
  continuous: rename('continuous'),
  poll_interval_ms: drop('backup.poll_interval_ms', 'a continuous run commits every backup.commit_interval'),
  on_missing_topic: rename('missing_topics'),
  start_offset: (value, notes) => {
    if (value !== 'earliest') notes.push('backup.start_offset: not translated; a backup begins at the start of the log')
    return {}
  },
  isolation_level: drop(
    'backup.isolation_level',
    'all records are stored, with the outcome of their transactions; a restore writes only committed ones',
  ),
  include_offset_headers: drop(
    'backup.include_offset_headers',
    'records are stored as they are; see restore.offset_headers',
  ),
  include_internal_topics: drop('backup.include_internal_topics', 'name internal topics in source.topics.include'),
  internal_topics: drop('backup.internal_topics', 'name internal topics in source.topics.include'),
  retention: drop('backup.retention', 'retention works by generations; docs/retention.md explains it'),
  stop_at_current_offsets: ignore,
  capture_topic_configs: ignore,
  consumer_group_snapshot: ignore,
}

/** Pure. */
export function translateBackup(backup: Section, notes: string[]): Section {
  return apply(backupRules, backup, 'backup', notes)
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
  restore_id: rename('restore_id'),
  include_original_offset_header: rename('offset_headers'),
  dry_run: (value, notes) => {
    if (value === true) notes.push('restore.dry_run: pass --dry-run on the command line')
    return {}
  },
  source_partitions: drop('restore.source_partitions', 'set restore.partitions for each topic'),
  partition_mapping: drop('restore.partition_mapping', 'set restore.partition_mapping for each topic'),
  repartitioning: drop('restore.repartitioning', 'see restore.repartition and restore.partition_count'),
  consumer_groups: value => ({ consumer_groups: { include: value } }),
  consumer_group_strategy: drop(
    'restore.consumer_group_strategy',
    'offsets are mapped exactly from the records that were written',
  ),
  reset_consumer_offsets: drop('restore.reset_consumer_offsets', 'see restore.consumer_groups'),
  auto_consumer_groups: drop('restore.auto_consumer_groups', 'see restore.consumer_groups'),
  purge_topics: drop('restore.purge_topics', 'a restore never deletes topics'),
  rewrite_schema_ids: drop('restore.rewrite_schema_ids', 'see enterprise.schema_registry.restore'),
  schema_id_mapping: drop('restore.schema_id_mapping', 'see enterprise.schema_registry.restore.id_mapping_file'),
  topic_config_overrides: drop('restore.topic_config_overrides', 'restore.topic_config applies to all topics'),
  checkpoint_state: drop('restore.checkpoint_state', 'progress is stored on the target'),
  checkpoint_interval_secs: value => ({ commit_interval: `${value}s` }),
  restore_topic_configs: ignore,
  idempotent_producer: ignore,
}

/** Pure. */
export function translateRestore(restore: Section, notes: string[]): Section {
  return apply(restoreRules, restore, 'restore', notes)
}
