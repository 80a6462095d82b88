import { parseJob } from '../../src/config/load-job.ts'
import type { RestoreDryRun } from '../../src/restore/dry-run.ts'
import type { Finding } from '../../src/restore/preflight.ts'
import type { RestoreReport } from '../../src/restore/run-restore.ts'

export const restoreJob = parseJob(
  `mode: restore
backup_id: orders
target: { bootstrap_servers: [kafka-2:9092] }
storage: { backend: filesystem, path: /backups }
`,
  { source: 'restore.yaml', env: {}, mode: 'restore' },
)

export const restoreReport: RestoreReport = {
  restoreId: '5f1c9a3b7d2e4f60',
  backupId: 'orders',
  generation: 3,
  wasComplete: false,
  durationMs: 10_000,
  topics: [
    { source: 'orders', target: 'orders-2', partitions: 4, records: 1_500_000, bytes: 419_430_400, rebuilt: 12 },
    { source: 'audit', target: 'audit', partitions: 1, records: 1, bytes: 80, rebuilt: 0 },
  ],
  warnings: [],
}

export const restoreDryRun: RestoreDryRun = {
  restoreId: '5f1c9a3b7d2e4f60',
  backupId: 'orders',
  generation: 3,
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
      heldBack: [],
    },
  ],
  totals: { topics: 2, partitions: 5, records: 1_500_001, bytes: 419_430_480, isEstimate: true },
  findings: [],
  warnings: [],
}

export const findings: Finding[] = [
  { severity: 'error', topic: 'audit', problem: 'it already has records', remedy: 'delete it' },
  { severity: 'error', topic: 'orders-2', problem: 'it does not exist', remedy: 'create it' },
  { severity: 'warning', topic: 'orders-2', problem: 'it is odd', remedy: 'look at it' },
]
