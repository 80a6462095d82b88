import type { Section } from './oso-options.ts'

/** Fields that only job files of this program have, down to the second level. A test compares them with the schema of job files. */
export const OWN_FIELDS: Record<string, readonly string[]> = {
  '': ['retention', 'monitoring', 'encryption'],
  source: ['client_id', 'request_timeout', 'client_rack'],
  target: ['client_id', 'request_timeout'],
  storage: [
    ...[
      'account',
      'anonymous',
      'authority_host',
      'ca_cert',
      'checksum',
      'connect_timeout',
      'container',
      'endpoint_suffix',
    ],
    ...['federated_token_file', 'file_mode', 'idle_timeout', 'key_file', 'kms_key_name', 'part_size', 'proxy'],
    ...['sign_payload', 'sse', 'sse_bucket_key', 'sse_kms_key_id', 'universe_domain', 'uploads', 'user_project'],
  ],
  backup: [
    ...['acls', 'commit_interval', 'compacted_reread', 'compacted_reread_interval', 'connections_per_broker'],
    ...[
      'consumer_groups',
      'lease_duration',
      'memory_budget',
      'merge_after',
      'missing_topics',
      'on_gap',
      'on_truncation',
    ],
    ...['poll_interval', 'quotas', 'rate_limit', 'segment_bytes', 'users'],
  ],
  restore: [
    ...['acls', 'as_of', 'batch_bytes', 'commit_interval', 'connections_per_broker', 'existing_topics', 'filter'],
    ...[
      'generation',
      'memory_budget',
      'offset_headers',
      'offset_ranges',
      'order',
      'partition_count',
      'partitions',
      'quotas',
    ],
    ...['rate_limit', 'repartition', 'replication_factor', 'retention', 'topic_config', 'topics', 'users', 'verify'],
  ],
  metrics: ['listen'],
}

/** Fields that both programs have under the same names. */
export const SHARED_FIELDS: Record<string, readonly string[]> = {
  '': ['mode', 'backup_id', 'source', 'target', 'storage', 'backup', 'restore', 'metrics', 'enterprise'],
  source: ['bootstrap_servers', 'security', 'topics'],
  target: ['bootstrap_servers', 'security'],
  storage: [
    ...[
      'backend',
      'path',
      'bucket',
      'region',
      'prefix',
      'endpoint',
      'path_style',
      'access_key_id',
      'secret_access_key',
      'session_token',
    ],
    ...['account_key', 'sas_token', 'client_id', 'tenant_id', 'client_secret'],
  ],
  backup: ['compression', 'continuous'],
  restore: [
    ...['time_window_start', 'time_window_end', 'topic_mapping', 'create_topics', 'restore_id', 'partition_mapping'],
    'consumer_groups',
  ],
  metrics: [],
  enterprise: ['schema_registry'],
}

/** Pure. Which program a job file is for; `both` where it has only fields that both programs have. */
export function recognizeJob(job: Section): 'own' | 'oso' | 'both' {
  const paths = pathsOf(job)
  const isIn = (table: Record<string, readonly string[]>) => (path: FieldPath) =>
    table[path[0]]?.includes(path[1]) === true
  if (paths.some(isIn(OWN_FIELDS)) || securityOf(job).some(name => ['protocol', 'tls', 'sasl'].includes(name)))
    return 'own'
  return paths.every(isIn(SHARED_FIELDS)) && securityOf(job).length === 0 ? 'both' : 'oso'
}

/** A section, empty for the file itself, and a field in it. */
type FieldPath = readonly [section: string, field: string]

function pathsOf(job: Section): FieldPath[] {
  return Object.entries(job).flatMap(([name, value]) => [
    ['', name] as const,
    ...(name in SHARED_FIELDS ? namesIn(value).map(field => [name, field] as const) : []),
  ])
}

function securityOf({ source, target }: Section): string[] {
  return [source, target].flatMap(cluster => namesIn((cluster as Section | undefined)?.security))
}

function namesIn(value: unknown): string[] {
  return typeof value === 'object' && value !== null ? Object.keys(value) : []
}
