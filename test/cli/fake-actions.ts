import type { BackupStatus } from '../../src/archive/backup-status.ts'
import type { Description } from '../../src/archive/describe.ts'
import type { GenerationDiff } from '../../src/archive/diff-generations.ts'
import type { GenerationListing } from '../../src/archive/generations.ts'
import type { BackupSummary } from '../../src/archive/list-backups.ts'
import type { Manifest, ManifestPartition } from '../../src/archive/manifest.ts'
import type { RepairReport } from '../../src/archive/repair.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import type { VerificationFacts } from '../../src/archive/verification.ts'
import type { DryRun } from '../../src/backup/dry-run.ts'
import type { BackupReport } from '../../src/backup/run-backup.ts'
import type { ShardReport } from '../../src/backup/run-shard.ts'
import type { Actions } from '../../src/cli/actions.ts'
import { parseJob } from '../../src/config/load-job.ts'
import type { CopyReport } from '../../src/copy/sides.ts'
import type { Evidence } from '../../src/drill/evidence.ts'
import type { VerifiedEvidence } from '../../src/drill/verify-evidence.ts'
import type { ExportReport } from '../../src/export/export-report.ts'
import type { ImportReport } from '../../src/import/import-oso.ts'
import type { DrillReport } from '../../src/jobs/drill.ts'
import type { KeyListing } from '../../src/jobs/keys.ts'
import type { ClusterSurvey } from '../../src/jobs/survey-cluster.ts'
import type { RecordedReport } from '../../src/jobs/verify.ts'
import type { CheckReport } from '../../src/observe/finding.ts'
import type { CompareReport } from '../../src/restore/compare.ts'
import type { OffsetMapRun } from '../../src/restore/offset-map.ts'
import type { DeleteReport } from '../../src/retention/delete-backup.ts'
import type { HoldReport } from '../../src/retention/hold-generation.ts'
import { newOutcome, type PruneReport } from '../../src/retention/outcome.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { preparedRestore, restoreDryRun, restoreJob, restoreReport, restoreShardReport } from './restore-samples.ts'
import {
  registryProbe,
  schemaBackupReport,
  schemaDiff,
  schemaListing,
  schemaRestoreDryRun,
  schemaRestoreReport,
} from './schema-samples.ts'

export const job = parseJob(
  `mode: backup
backup_id: orders
source: { bootstrap_servers: [kafka:9092], topics: { include: [orders] } }
storage: { backend: filesystem, path: /backups }
`,
  { source: 'job.yaml', env: {}, mode: 'backup' },
)

const partition: ManifestPartition = {
  ...emptyPartition(0, 0n),
  end_offset: 1_500_000n,
  records: 1_500_000,
  bytes: 1_288_490_189,
  stored_bytes: 394_264_576,
  segments: 3,
  first_timestamp: 1_761_955_200_000n,
  last_timestamp: 1_763_199_372_123n,
}

export const manifest: Manifest = {
  format: 'kafka-backup',
  format_version: 1,
  tool_version: '0.1.0',
  backup_id: 'orders',
  generation: 3,
  run: 'abcd1234',
  complete: true,
  created_at: '2025-11-15T09:36:12.345Z',
  started_at: '2025-11-15T09:35:00.000Z',
  cluster: { id: 'MkU3OEVBNTcwNTJENDM2Qk', brokers: 3 },
  selection: { include: ['orders', 'payments-*'], exclude: ['*-tmp'] },
  topics: [
    {
      name: 'orders',
      id: 'dG9waWMtb3JkZXJzLWlkLQ',
      state: 'current',
      internal: false,
      replication_factor: 3,
      configs: { 'cleanup.policy': 'compact,delete', 'retention.ms': '604800000' },
      partitions: [partition],
    },
  ],
  warnings: [],
}

export const gap = {
  topic: 'orders',
  partition: 0,
  from: 100n,
  to: 1300n,
  reason: 'retention',
  found_at: '2025-11-15T09:36:00Z',
} as const

const unchanged = { topics: false, schemas: false, consumerGroups: false, access: false }

export const backupReport: BackupReport = {
  manifest,
  durationMs: 12_300,
  changes: unchanged,
  copied: { records: 500_000, bytes: 429_496_730, partitions: 1 },
  newGaps: [],
  warnings: [],
}

export const shardReport: ShardReport = {
  backupId: 'orders',
  generation: 4,
  shard: { index: 1, count: 4 },
  key: 'orders/shards/00000004/shard-1-of-4.b985d206-1.json',
  durationMs: 2100,
  copied: { records: 1200, bytes: 2_000_000, partitions: 3 },
  newGaps: [],
  warnings: [],
}

export const dryRun: DryRun = {
  backupId: 'orders',
  clusterId: 'MkU3OEVBNTcwNTJENDM2Qk',
  location: '/backups',
  resumesFrom: 3,
  topics: [
    { name: 'orders', partitions: 4, offsets: 500_000n, bytes: 429_496_730, isNew: false },
    { name: 'payments-eu', partitions: 12, offsets: 9_007_199_254_740_993n, bytes: null, isNew: true },
  ],
  totals: { topics: 2, partitions: 16, offsets: 9_007_199_255_240_993n, bytes: null },
  gaps: [],
  rereads: [],
  leaderless: [],
  warnings: [],
}

export const statuses: BackupStatus[] = [
  {
    backup_id: 'orders',
    level: 'ok',
    generation: 3,
    created_at: '2025-11-15T09:36:12.345Z',
    age_seconds: 7200,
    expected_interval_seconds: 86_400,
    expected_interval_source: 'job',
    complete: true,
    records: 1_500_000,
    stored_bytes: 394_264_576,
    growth_bytes_per_day: 12_582_912,
    gaps: 0,
    new_gaps: 0,
    last_verified_at: '2025-11-15T08:10:00.000Z',
    last_drilled_at: null,
    findings: [],
  },
]

const surveyed = { isInternal: false, isCompacted: false, retentionMs: 604_800_000, missing: [] }

export const clusterSurvey: ClusterSurvey = {
  clusterId: 'MkU3OEVBNTcwNTJENDM2Qk',
  brokers: 3,
  topics: [
    { ...surveyed, name: '__consumer_offsets', partitions: 50, bytes: 1000, isInternal: true },
    { ...surveyed, name: 'app-count-repartition', partitions: 4, bytes: 4096 },
    { ...surveyed, name: 'orders', partitions: 12, bytes: 5_000_000_000, retentionMs: 86_400_000 },
    { ...surveyed, name: 'secret', partitions: 1, bytes: null, retentionMs: null, missing: ['Read'] },
  ],
}

export const checkReport: CheckReport = {
  ok: true,
  clusterId: 'MkU3OEVBNTcwNTJENDM2Qk',
  brokers: 3,
  checks: [
    { subject: 'broker 1', action: 'connect', allowed: true, detail: 'kafka:9092 answers' },
    { subject: 'topic orders', action: 'Read', allowed: true, detail: '' },
    { subject: 'storage /backups', action: 'write', allowed: true, detail: 'the folder may be written' },
  ],
  warnings: [],
}

export const verification: VerificationFacts = {
  generation: 3,
  deep: true,
  problems: 0,
  started_at: '2025-11-16T08:00:00.000Z',
  finished_at: '2025-11-16T08:10:00.000Z',
}

const verified = {
  last_verification: verification,
  last_deep_verification: verification,
  last_damage: null,
  last_drill: null,
  last_proven_drill: null,
  last_failed_drill: null,
}

export const summaries: BackupSummary[] = [
  {
    backup_id: 'orders',
    generation: 3,
    complete: true,
    created_at: '2025-11-15T09:36:12.345Z',
    cluster_id: 'MkU3OEVBNTcwNTJENDM2Qk',
    encrypted: false,
    stale_topics: 0,
    warnings: [],
    failed_sections: [],
    old_schemas_at: null,
    found_gaps: [],
    ...verified,
    topics: 1,
    partitions: 1,
    records: 1_500_000,
    aborted_records: 0,
    batches: 100,
    bytes: 1_288_490_189,
    stored_bytes: 394_264_576,
    segments: 3,
    gaps: 0,
  },
]

export const description: Description = {
  backup_id: 'orders',
  location: '/backups',
  generation: 3,
  generations: [1, 2, 3],
  complete: true,
  started_at: manifest.started_at,
  created_at: manifest.created_at,
  tool_version: '0.1.0',
  format_version: 1,
  cluster: manifest.cluster,
  selection: manifest.selection,
  ...verified,
  totals: {
    topics: 2,
    partitions: 2,
    records: 1_500_000,
    aborted_records: 0,
    batches: 100,
    bytes: 1_288_490_189,
    stored_bytes: 394_264_576,
    segments: 3,
    gaps: 1,
  },
  encryption: null,
  warnings: ['orders/0 has an open transaction'],
  consumer_groups: {
    state: 'taken',
    taken_at: manifest.started_at,
    groups: 2,
    positions: 7,
    errors: 1,
    error: null,
  },
  access: {
    taken_at: manifest.started_at,
    acls: { state: 'taken', count: 12, error: null },
    quotas: { state: 'off', count: 0, error: null },
    users: { state: 'failed', count: 0, error: 'denied' },
  },
  topics: [
    {
      name: 'orders',
      selector: 'orders',
      recovery_window: {
        oldest: { generation: 1, created_at: '2025-11-10T00:00:00.000Z' },
        newest: { generation: 3, created_at: '2025-11-15T09:36:12.000Z' },
      },
      id: 'dG9waWMtb3JkZXJzLWlkLQ',
      state: 'current',
      internal: false,
      replication_factor: 3,
      configs: { 'cleanup.policy': 'compact,delete', 'retention.ms': '604800000' },
      partition_count: 1,
      records: 1_500_000,
      aborted_records: 0,
      bytes: 1_288_490_189,
      stored_bytes: 394_264_576,
      first_timestamp: 1_761_955_200_000n,
      last_timestamp: 1_763_199_372_123n,
      gaps: [gap],
      partitions: [],
    },
    {
      name: 'audit',
      selector: 'audit@dG9waWMt',
      recovery_window: {
        oldest: { generation: 2, created_at: '2025-11-12T00:00:00.000Z' },
        newest: { generation: 3, created_at: '2025-11-15T09:36:12.000Z' },
      },
      id: 'dG9waWMtYXVkaXQtaWQtLQ',
      state: 'replaced',
      internal: false,
      replication_factor: 3,
      configs: {},
      partition_count: 1,
      records: 0,
      aborted_records: 0,
      bytes: 0,
      stored_bytes: 0,
      first_timestamp: null,
      last_timestamp: null,
      gaps: [],
      partitions: [],
    },
  ],
  topic_settings_at: '2026-11-14T10:00:00.000Z',
  carried_sections: [],
  schema_registry: { enabled: false, taken_at: null, subjects_count: 0, schemas_count: 0, subjects: [] },
}

export const verifyReport: RecordedReport = {
  ok: true,
  backup_id: 'orders',
  generation: 3,
  complete: true,
  deep: false,
  encrypted: false,
  objects: 5,
  bytes: 394_264_576,
  partitions: 1,
  records: 1_500_000,
  problems: [],
  unreadable_generations: [],
  gaps: [],
  warnings: [],
  record: { key: 'orders/reports/verified/20251116t080000000z-1a2b3c4d.quick.json' },
}

export const repairReport: RepairReport = {
  backup_id: 'orders',
  format_version: 2,
  needed: true,
  newest: 41,
  generation: 42,
  base: 39,
  unreadable: [{ from: 41, to: 41 }],
  lost_commits: [{ from: 40, to: 40 }],
  lost: [{ topic: 'orders', partition: 0, from: 100n, to: 120n, at_end: false }],
  unnamed_topics: [],
  from_older: [{ topic: 'orders', partition: 1, from: 40n, to: 80n }],
  problems: [{ key: 'orders/commits/000000000/000000000040.json.zst', problem: 'it is missing' }],
  deep: false,
  dry_run: true,
}

export const keyListing: KeyListing = {
  backupId: 'orders',
  location: '/backups',
  version: 1,
  createdAt: '2025-11-15T09:36:12.345Z',
  hideNames: true,
  dataKeys: [{ id: '00112233445566778899aabbccddeeff', createdAt: '2025-11-15T09:36:12.345Z' }],
  recipients: [
    { kind: 'key', id: '0011223344556677', name: 'ops' },
    { kind: 'passphrase', id: 'passphrase', name: null },
  ],
}

export const deleteReport: DeleteReport = {
  location: '/backups',
  backupId: 'orders',
  isDryRun: false,
  isFound: true,
  outcome: {
    ...newOutcome('orders'),
    state: 'removed',
    generationsRemoved: 3,
    removed: { objects: 12, bytes: 4096 },
    unknown: ['orders/notes.txt'],
  },
}

export const pruneReport: PruneReport = {
  location: '/backups',
  isDryRun: true,
  graceMs: 86_400_000,
  backups: [
    {
      ...newOutcome('orders-1'),
      state: 'given_up',
      reasons: ['no rule keeps it'],
      createdAt: '2025-11-01T09:36:12.345Z',
      storedBytes: 1_000_000,
      waiting: { objects: 12, bytes: 1_000_000 },
    },
    {
      ...newOutcome('orders-2'),
      state: 'kept',
      reasons: ['keep_last', 'the newest complete one'],
      createdAt: '2025-11-15T09:36:12.345Z',
      storedBytes: 2_000_000,
      trimmed: { partitions: 2, segments: 6, records: 60, bytes: 600_000 },
      generationsRemoved: 3,
      removed: { objects: 4, bytes: 4096 },
      usedBy: ['restore on h1, process 7, since 2025-11-15T09:00:00Z'],
      unknown: ['orders-2/notes.txt'],
    },
  ],
  notes: [],
}

export const compareReport: CompareReport = {
  ok: true,
  backupId: 'orders',
  generation: 3,
  durationMs: 1234.5,
  topics: [
    {
      source: 'orders',
      target: 'copy',
      partitions: [{ sourcePartition: 0, partition: 1, records: 1_500_000, removed: 0, differences: [], isCut: false }],
    },
  ],
  totals: { topics: 1, partitions: 1, records: 1_500_000, removed: 0, differences: 0 },
  warnings: [],
}

export const offsetRuns: OffsetMapRun[] = [
  {
    topic: 'orders',
    partition: 0,
    targetTopic: 'copy',
    targetPartition: 1,
    targetTopicId: 'id-copy',
    sourceOffset: 10n,
    targetOffset: 0n,
    count: 3n,
  },
  {
    topic: 'orders',
    partition: 0,
    targetTopic: 'copy',
    targetPartition: 1,
    targetTopicId: 'id-copy',
    sourceOffset: 20n,
    targetOffset: 3n,
    count: 1n,
  },
]

const generationTotals = { topics: 1, partitions: 1, aborted_records: 0, batches: 30_000, segments: 12 }
export const generationListing: GenerationListing = {
  location: '/backups',
  backup_id: 'orders',
  generations: [
    {
      ...{ generation: 1_000_003, complete: false, created_at: '2025-11-15T09:36:12.000Z' },
      ...{ started_at: '2025-11-15T09:36:00.000Z', ...generationTotals, records: 1_500_000, bytes: 1_288_490_188 },
      ...{ stored_bytes: 394_264_576, gaps: 2, hold: null },
    },
    {
      ...{ generation: 1_000_002, complete: true, created_at: '2025-11-14T08:30:00.000Z' },
      ...{ started_at: '2025-11-14T08:29:00.000Z', ...generationTotals, records: 900_000, bytes: 800_000_000 },
      ...{ stored_bytes: 200_000_000, gaps: 0 },
      hold: { created_at: '2025-11-15T09:36:12.000Z', reason: 'audit of 2025' },
    },
  ],
  more: true,
  warnings: [],
}

export const holdReport: HoldReport = {
  location: '/backups',
  backup_id: 'orders',
  generation: 41,
  held: true,
  changed: true,
  hold: { created_at: '2025-11-15T09:36:12.000Z', reason: 'audit of 2025' },
}

const sameState = { from: 'taken', to: 'taken' } as const
export const generationDiff: GenerationDiff = {
  location: '/backups',
  backup_id: 'orders',
  equal: false,
  from: {
    ...{ generation: 41, created_at: '2025-11-14T08:30:00.000Z', complete: true },
    ...{ records: 900_000, bytes: 800_000_000, stored_bytes: 200_000_000 },
  },
  to: {
    ...{ generation: 43, created_at: '2025-11-15T09:36:12.000Z', complete: true },
    ...{ records: 1_500_000, bytes: 1_288_490_188, stored_bytes: 394_264_576 },
  },
  selection_changed: false,
  topics: [
    {
      topic: 'orders',
      selector: 'orders',
      change: 'changed',
      records: { from: 900_000, to: 1_500_000 },
      bytes: { from: 800_000_000, to: 1_288_490_188 },
      settings: [{ name: 'retention.ms', from: null, to: '604800000' }],
      partitions: [
        {
          ...{ partition: 0, change: 'changed', start_offset: { from: 0n, to: 100n } },
          ...{ end_offset: { from: 900_000n, to: 1_500_100n }, records: { from: 900_000, to: 1_500_000 } },
          ...{ bytes: { from: 800_000_000, to: 1_288_490_188 }, stored_bytes: { from: 200_000_000, to: 394_264_576 } },
          new_gaps: [{ from: 950_000n, to: 950_100n, reason: 'retention', found_at: '2025-11-15T09:36:12.000Z' }],
          closed_gaps: [1n, 5n].map(from => ({ from, to: from + 1n, reason: 'unreadable' as const, found_at: 'x' })),
        },
      ],
    },
  ],
  schema_registry: {
    ...{ enabled: { from: true, to: true }, versions: { from: 3, to: 5 }, settings_changed: true },
    ...{ added: ['orders-value'], removed: [], changed: ['orders-key'] },
  },
  consumer_groups: { state: sameState, added: [], removed: ['audit'], changed: [] },
  access: {
    acls: { state: { from: 'taken', to: 'failed' }, added: 0, removed: 12 },
    quotas: { state: sameState, added: 1, removed: 0 },
    users: { state: { from: 'off', to: 'off' }, added: 0, removed: 0 },
  },
  warnings: [],
}

export const copyReport: CopyReport = {
  backup_id: 'orders',
  from: '/backups',
  to: '/copies',
  ok: true,
  dry_run: false,
  generations: [2, 3],
  newest_generation: 3,
  objects: 12,
  bytes: 394_264_576,
  existing_objects: 4,
  existing_bytes: 2_000_000,
  existing_verified: false,
  older_generations: [],
  problems: [],
  warnings: [],
}

export const exportReport: ExportReport = {
  ...{ backup_id: 'orders', generation: 3, generation_created_at: '2025-11-15T09:36:12.345Z' },
  ...{ format: 'jsonl', location: '/files', exported_at: '2025-11-15T10:00:00.000Z', tool_version: '0.1.0' },
  ...{ records: 2, searched: 7, tombstones: 1, keys_not_decoded: 0, values_not_decoded: 1, searched_as_stored: 0 },
  stopped_at_limit: false,
  reasons: [{ reason: 'the backup has no schema ID 4', count: 1 }],
  warnings: [],
  topics: [{ topic: 'orders', records: 2, searched: 7, tombstones: 1, keys_not_decoded: 0, values_not_decoded: 1 }],
  files: [{ name: 'orders.jsonl', topic: 'orders', records: 2, bytes: 300, sha256: 'ab' }],
}

export const drillEvidence: Evidence = {
  ...{ format: 'kafka-backup-drill-evidence', format_version: 1, run: '0123456789abcdef' },
  ...{ result: 'proven', failure: null, scope: 'all topics' },
  backup: {
    ...{ id: 'orders', location: '/backups', generation: 3, committed_at: '2025-11-15T09:36:12.345Z' },
    source_cluster_id: 'MkU3OEVBNTcwNTJENDM2Qk',
  },
  target: { cluster_id: 'T2U3OEVBNTcwNTJENDM2Qk' },
  ...{ started_at: '2025-11-15T10:00:00.000Z', finished_at: '2025-11-15T10:01:00.000Z' },
  recovery: { total: 12.5, schemas: 0.5, records: 10, comparison: 7, bytes_per_second: 41_943_040 },
  totals: { topics: 1, partitions: 1, records: 7, bytes: 419_430_400, compared: 7, differences: 0 },
  topics: [
    {
      ...{ source: 'orders', scratch: 'kafka-backup-drill.0123456789abcdef.orders', id: 'dG9waWMtb25lLWlkLTE' },
      ...{ records: 7, bytes: 419_430_400 },
      partitions: [{ partition: 0, from: 0n, to: 7n, compared: 7, differences: [] }],
      mixed_partitions: [],
    },
  ],
  ...{ gaps: [], schemas: { registry: 'embedded', versions: 2 }, warnings: [] },
  clean_up: {
    removed: [{ name: 'kafka-backup-drill.0123456789abcdef.orders', id: 'dG9waWMtb25lLWlkLTE' }],
    left: [],
  },
  ...{ tool: { name: 'kafka-backup', version: '0.1.0', node: 'v24.0.0' }, host: 'h1', signer: null },
}

export const drillReport: DrillReport = {
  evidence: drillEvidence,
  location: '/drills/orders/drills/20251115t100000000z-0123456789abcdef',
  files: ['report.txt', 'report.html', 'evidence.json'],
  record: { key: 'orders/reports/drilled/20251115t100000000z-0123456789abcdef.proven.json' },
}

export const verifiedEvidence: VerifiedEvidence = {
  ...{ ok: true, problems: [], missing: [], key_id: 'abcdef0123456789' },
  evidence: {
    ...{ ...drillEvidence, signer: { key_id: 'abcdef0123456789' } },
    reports: { text_sha256: 'ab', html_sha256: 'cd' },
  },
}

export const importReport: ImportReport = {
  ...{ backup_id: 'orders', from: '/old', to: '/backups', generation: 1, topics: 1, partitions: 2, records: 7 },
  ...{ bytes: 700, stored_bytes: 300, gaps: 0, damaged_segments: 0, losses: ['batches are not in the archive'] },
}

/** Answers with the samples above; a test replaces what it is about. `calls` has the arguments of each call. */
export function fakeActions(replaced: Partial<Actions> = {}): Actions & { calls: Record<string, unknown[]> } {
  const calls: Record<string, unknown[]> = {}
  const storage = { location: '/backups', close: async () => note('close', []) } as unknown as Storage
  const note = (name: string, args: unknown[]) => {
    calls[name] = args
  }
  const answer =
    <T>(name: string, value: T) =>
    async (...args: unknown[]): Promise<T> => {
      note(name, args)
      return value
    }
  return {
    calls,
    importJob: answer('importJob', importReport),
    runDrillJob: answer('runDrillJob', drillReport),
    verifyEvidenceAt: answer('verifyEvidenceAt', verifiedEvidence),
    verifyNewestEvidence: answer('verifyNewestEvidence', verifiedEvidence),
    openBareStorage: answer('openBareStorage', storage),
    loadJob: answer('loadJob', job),
    loadBackupJob: answer('loadBackupJob', job),
    loadRestoreJob: answer('loadRestoreJob', restoreJob),
    loadClusterlessJob: async (path, options) => {
      note('loadClusterlessJob', [path, options])
      return options.mode === 'restore' ? restoreJob : job
    },
    openLocation: answer('openLocation', storage),
    openJobStorage: answer('openJobStorage', storage),
    runBackupJob: answer('runBackupJob', backupReport),
    runShardJob: answer('runShardJob', shardReport),
    commitShardsJob: answer('commitShardsJob', backupReport),
    writeReport: answer('writeReport', 'orders/reports/r.json'),
    dryRunJob: answer('dryRunJob', dryRun),
    runRestoreJob: answer('runRestoreJob', restoreReport),
    prepareRestoreJob: answer('prepareRestoreJob', preparedRestore),
    restoreShardJob: answer('restoreShardJob', restoreShardReport),
    finishRestoreJob: answer('finishRestoreJob', restoreReport),
    dryRunRestoreJob: answer('dryRunRestoreJob', restoreDryRun),
    checkJob: answer('checkJob', checkReport),
    checkJobStorage: answer('checkJobStorage', checkReport),
    listBackups: answer('listBackups', summaries),
    parseBackupJob: async (text, options) => parseJob(text, { ...options, mode: 'backup' }),
    parseRestoreJob: async (text, options) => parseJob(text, { ...options, mode: 'restore' }),
    readConnectionFile: answer('readConnectionFile', {
      bootstrapServers: ['kafka:9093'],
      security: { protocol: 'SASL_SSL', sasl: { mechanism: 'PLAIN', username: 'u', password: `\${KAFKA_PASSWORD}` } },
      secrets: [{ variable: 'KAFKA_PASSWORD', origin: 'sasl.password in client.properties', value: 'hunter2-secret' }],
      notes: [],
    }),
    readOsoJobFile: answer('readOsoJobFile', undefined),
    surveyCluster: answer('surveyCluster', clusterSurvey),
    assertFree: answer('assertFree', undefined),
    writeJobFile: answer('writeJobFile', undefined),
    readStatus: answer('readStatus', statuses),
    notifyWebhooks: answer('notifyWebhooks', []),
    listBackupIds: answer('listBackupIds', ['orders', 'payments']),
    openBackup: answer('openBackup', manifest),
    listGenerationsOf: answer('listGenerationsOf', generationListing),
    diffGenerations: answer('diffGenerations', generationDiff),
    describeBackup: answer('describeBackup', description),
    verifyBackup: answer('verifyBackup', verifyReport),
    pruneAt: answer('pruneAt', pruneReport),
    repairAt: answer('repairAt', repairReport),
    holdAt: answer('holdAt', holdReport),
    releaseAt: answer('releaseAt', { ...holdReport, held: false }),
    keepExpiredAt: answer('keepExpiredAt', undefined),
    findBackupsAt: answer('findBackupsAt', ['orders-1', 'orders-2']),
    deleteAt: answer('deleteAt', deleteReport),
    withCopies: async (places, _hooks, _signal, work) => {
      note('withCopies', [places])
      const copy = async (backup_id: string, ...args: unknown[]) => {
        note(`copy ${backup_id}`, args)
        return { ...copyReport, backup_id }
      }
      return work({ from: '/backups', to: '/copies', listIds: answer('listIds', ['orders', 'payments']), copy })
    },
    watchVerify: (_job, hooks, work) => work(hooks),
    plainRestoreJob: answer('plainRestoreJob', restoreJob),
    compareJob: answer('compareJob', compareReport),
    planTopicsJob: answer('planTopicsJob', []),
    offsetMapJob: answer('offsetMapJob', offsetRuns),
    catAt: async (...[, backupId, request, , work]) => {
      note('catAt', [backupId, request])
      return work(ReadableStream.from([]) as unknown as AsyncIterable<never>)
    },
    exportAt: answer('exportAt', exportReport),
    findOffsetJob: answer('findOffsetJob', undefined),
    backupSchemasJob: answer('backupSchemasJob', schemaBackupReport),
    restoreSchemasJob: answer('restoreSchemasJob', schemaRestoreReport),
    dryRunSchemasJob: answer('dryRunSchemasJob', schemaRestoreDryRun),
    listSchemasJob: answer('listSchemasJob', schemaListing),
    diffSchemasJob: answer('diffSchemasJob', schemaDiff),
    openOffsets: async (...args) => {
      note('openOffsets', args)
      throw new Error('a test of offsets brings its own session')
    },
    newKeyJob: answer('newKeyJob', { id: '0011223344556677', file: 'backup.key' }),
    listKeysJob: answer('listKeysJob', keyListing),
    rewrapKeysJob: answer('rewrapKeysJob', { ...keyListing, removed: 1, snapshots: { rewrapped: 1, kept: [] } }),
    serveOperator: answer('serveOperator', undefined),
    openPlugin: async (...args) => {
      note('openPlugin', args)
      throw new Error('a test of the kubectl plugin brings its own')
    },
    printDefinitions: answer('printDefinitions', {
      yaml: '---\nkind: CustomResourceDefinition',
      list: { kind: 'List' },
    }),
    openConsole: answer('openConsole', { url: 'http://127.0.0.1:8088', close: async () => undefined }),
    openRegistry: answer('openRegistry', { url: 'http://127.0.0.1:8081', close: async () => undefined }),
    probeRegistryJob: answer('probeRegistryJob', registryProbe),
    ...replaced,
  }
}
