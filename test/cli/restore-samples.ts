import type { AccessReport } from '../../src/access/access-plan.ts'
import { parseJob } from '../../src/config/load-job.ts'
import type { Finding } from '../../src/observe/finding.ts'
import type { CarryReport } from '../../src/offsets/carry-report.ts'
import type { CompareReport } from '../../src/restore/compare.ts'
import type { RestoreDryRun } from '../../src/restore/dry-run.ts'
import type { PreparedRestore } from '../../src/restore/prepare-restore.ts'
import type { RestoreReport } from '../../src/restore/report.ts'
import type { RestoreShardReport } from '../../src/restore/restore-shard.ts'
import { rule } from '../access/rules.ts'

export const restoreJob = parseJob(
  `mode: restore
backup_id: orders
target: { bootstrap_servers: [kafka-2:9092] }
storage: { backend: filesystem, path: /backups }
`,
  { source: 'restore.yaml', env: {}, mode: 'restore' },
)

export const carried: CarryReport = {
  totals: { groups: 3, committed: 1, kept: 1, failed: 1 },
  groups: [
    {
      group: 'billing',
      target: 'billing-2',
      outcome: 'committed',
      committed: [
        {
          topic: 'orders',
          partition: 0,
          sourceOffset: 1200n,
          targetTopic: 'orders-2',
          targetPartition: 0,
          targetOffset: 1100n,
          how: 'exact',
          rereads: 0n,
        },
      ],
      kept: [],
      leftOut: 2,
    },
    {
      group: 'mail',
      target: 'mail',
      outcome: 'kept',
      committed: [],
      kept: [{ topic: 'orders-2', partition: 0, offset: 7n }],
      leftOut: 0,
    },
    { group: 'web', target: 'web', outcome: 'failed', error: 'it has members', committed: [], kept: [], leftOut: 0 },
  ],
}

export const restoreReport: RestoreReport = {
  restoreId: '5f1c9a3b7d2e4f60',
  backupId: 'orders',
  generation: 3,
  generationCreatedAt: '2026-01-02T03:04:05.678Z',
  wasComplete: false,
  isDone: true,
  durationMs: 10_000,
  topics: [
    {
      source: 'orders',
      target: 'orders-2',
      origin: 'created',
      partitions: 4,
      records: 1_500_000,
      bytes: 419_430_400,
      found: 0,
      durationMs: 8000,
      rebuilt: 12,
      conversions: { merged: 10, holes: 2 },
    },
    {
      source: 'audit',
      target: 'audit',
      origin: 'existed',
      partitions: 1,
      records: 1,
      bytes: 80,
      found: 0,
      durationMs: 4,
      rebuilt: 0,
      conversions: {},
    },
  ],
  totals: {
    topics: 2,
    partitions: 5,
    records: 1_500_001,
    bytes: 419_430_480,
    found: 0,
    rebuilt: 12,
    conversions: { merged: 10, holes: 2 },
  },
  gaps: [],
  warnings: [],
}

export const restoreDryRun: RestoreDryRun = {
  restoreId: '5f1c9a3b7d2e4f60',
  backupId: 'orders',
  generation: 3,
  generationCreatedAt: '2026-01-02T03:04:05.678Z',
  location: '/backups',
  targetCluster: 'T2U3OEVBNTcwNTJENDM2Qk',
  state: 'new',
  topics: [
    {
      source: 'orders',
      target: 'orders-2',
      partitions: 4,
      exists: false,
      records: 1_500_000,
      bytes: 419_430_400,
      isEstimate: true,
      precision: 'about',
      heldBack: [
        { name: 'cleanup.policy', whileFilling: 'delete', afterwards: 'compact' },
        { name: 'compression.type', whileFilling: 'producer', afterwards: null },
        { name: 'retention.ms', whileFilling: '-1' },
      ],
    },
    {
      source: 'audit',
      target: 'audit',
      partitions: 1,
      exists: true,
      records: 1,
      bytes: 80,
      isEstimate: false,
      precision: 'exact',
      heldBack: [],
    },
  ],
  totals: { topics: 2, partitions: 5, records: 1_500_001, bytes: 419_430_480, isEstimate: true, precision: 'about' },
  findings: [],
  warnings: [],
}

export const findings: Finding[] = [
  { severity: 'error', subject: 'topic audit', problem: 'it already has records', remedy: 'delete it' },
  { severity: 'error', subject: 'topic orders-2', problem: 'it does not exist', remedy: 'create it' },
  { severity: 'warning', subject: 'topic orders-2', problem: 'it is odd', remedy: 'look at it' },
]

/** What a comparison finds on a target where somebody was at work. */
export const differing: CompareReport = {
  backupId: 'orders',
  generation: 3,
  durationMs: 1234.5,
  ok: false,
  topics: [
    {
      source: 'orders',
      target: 'copy',
      partitions: [
        {
          sourcePartition: 0,
          partition: 1,
          records: 7,
          removed: 2,
          isCut: true,
          differences: [
            { kind: 'missing', sourcePartition: 0, sourceOffset: 11n, fields: [], expected: '"a"' },
            {
              kind: 'different',
              sourcePartition: 0,
              sourceOffset: 12n,
              targetOffset: 2n,
              fields: ['key', 'value'],
              expected: '"b"',
              actual: 'null',
            },
            { kind: 'extra', targetOffset: 9n, fields: [], actual: '0x00' },
          ],
        },
      ],
    },
  ],
  totals: { topics: 1, partitions: 1, records: 7, removed: 2, differences: 3 },
  warnings: ['copy/1: a transaction is open'],
}

export const accessReport: AccessReport = {
  acls: {
    items: [
      { item: rule({ permission: 'DENY' }), decision: 'failed', notes: ['no'] },
      { item: rule({}), decision: 'created', notes: [] },
      { item: rule({ resourceName: 'kept' }), decision: 'kept', notes: [] },
    ],
  },
  quotas: {
    items: [
      {
        item: { entity: [{ type: 'user', name: null }], key: 'consumer_byte_rate', value: 2 },
        decision: 'differs',
        notes: ['the target has 3'],
      },
    ],
  },
  users: {
    items: [
      { item: { user: 'b', mechanism: 'SCRAM-SHA-256', iterations: 4096 }, decision: 'cannot', notes: ['a command'] },
    ],
  },
  totals: { created: 1, kept: 1, differs: 1, cannot: 1, failed: 1 },
}

export const preparedRestore: PreparedRestore = {
  restoreId: '5f1c9a3b7d2e4f60',
  backupId: 'orders',
  generation: 3,
  generationCreatedAt: '2026-01-02T03:04:05.678Z',
  durationMs: 900,
  wasPrepared: false,
  wasComplete: false,
  topics: 2,
  shards: [
    { partitions: 3, records: 1_000_001, bytes: 279_620_346 },
    { partitions: 2, records: 500_000, bytes: 139_810_134 },
  ],
  warnings: [],
}

export const restoreShardReport: RestoreShardReport = {
  restoreId: '5f1c9a3b7d2e4f60',
  backupId: 'orders',
  generation: 3,
  generationCreatedAt: '2026-01-02T03:04:05.678Z',
  shard: { index: 1, count: 2 },
  wasComplete: false,
  durationMs: 5000,
  topics: [
    {
      ...{
        source: 'orders',
        target: 'orders-2',
        origin: 'resumed',
        partitions: 2,
        records: 500_000,
        bytes: 139_810_134,
      },
      ...{ found: 0, durationMs: 4000, rebuilt: 0, conversions: {} },
    },
  ],
  totals: { topics: 1, partitions: 2, records: 500_000, bytes: 139_810_134, found: 0, rebuilt: 0, conversions: {} },
  gaps: [],
  warnings: [],
}
