import { parseJob } from '../../src/config/load-job.ts'
import type { SchemaRestoreDryRun, SchemaRestoreReport } from '../../src/jobs/schemas.ts'
import type { SchemaBackupReport } from '../../src/registry/backup-schemas.ts'
import type { RegistryProbe } from '../../src/registry/probe/probe-registry.ts'
import type { SchemaDryRun, SchemaReport } from '../../src/registry/restore/schema-report.ts'
import type { SchemaDiff, SchemaListing, SchemaSource } from '../../src/registry/schema-listing.ts'

/** A job with a registry; the next is the restore of its backup. */
export const registryJob = parseJob(
  `mode: backup
backup_id: orders
source: { bootstrap_servers: [kafka:9092], topics: { include: [orders] } }
storage: { backend: filesystem, path: /backups }
enterprise: { schema_registry: { enabled: true, url: 'http://registry:8081', backup: { subjects: ['orders-*'] } } }
`,
  { source: 'job.yaml', env: {}, mode: 'backup' },
)

export const registryRestoreJob = parseJob(
  `mode: restore
backup_id: orders
target: { bootstrap_servers: [kafka-2:9092] }
storage: { backend: filesystem, path: /backups }
enterprise: { schema_registry: { enabled: true, url: 'http://registry-2:8081' } }
`,
  { source: 'restore.yaml', env: {}, mode: 'restore' },
)

export const schemaBackupReport: SchemaBackupReport = {
  backupId: 'orders',
  generation: 4,
  isChanged: true,
  subjects: 3,
  versions: 1200,
  topics: 2,
  warnings: [],
  durationMs: 1234.5,
}

export const schemaReport: SchemaReport = {
  flavour: 'confluent',
  registryVersion: '8.0.0',
  wasComplete: false,
  versions: { register: 3, keep: 1, replace: 0, merge: 0, leave: 0, conflict: 0 },
  subjects: 2,
  ids: [
    { context: '.', source: 1, target: 1 },
    { context: '.', source: 2, target: 1002 },
  ],
  unmappedIds: [],
  notes: [],
  acceptLoss: [],
  requests: 20,
  durationMs: 456.7,
}

export const lossyNote = {
  kind: 'lossy',
  loss: 'metadata',
  subject: 'orders-value',
  message: 'the registry keeps no metadata',
} as const

export const schemaPlan: SchemaDryRun = {
  flavour: 'confluent',
  registryVersion: '8.0.0',
  versions: [
    {
      source: { subject: 'orders-value', version: 1, id: 2 },
      subject: 'orders-value',
      version: 1,
      id: null,
      action: 'register',
    },
  ],
  counts: { register: 1, keep: 0, replace: 0, merge: 0, leave: 0, conflict: 0 },
  writes: { register: 1 },
  conflicts: [],
  notes: [],
  acceptLoss: [],
}

const head = { backupId: 'orders', generation: 3, location: '/backups', registry: 'http://registry:8081' }

export const schemaRestoreReport: SchemaRestoreReport = { ...head, ...schemaReport }
export const schemaRestoreDryRun: SchemaRestoreDryRun = { ...head, ...schemaPlan, findings: [] }

export const backupSource: SchemaSource = {
  name: 'generation 3 of the backup orders at /backups',
  flavour: 'confluent',
  registryVersion: '8.0.0',
  takenAt: '2026-11-15T10:00:00.000Z',
  subjects: 2,
  deletedSubjects: 1,
  versions: 1204,
  deletedVersions: 4,
}

export const registrySource: SchemaSource = {
  ...backupSource,
  name: 'registry http://registry:8081',
  subjects: 1,
  deletedSubjects: 0,
  versions: 1,
  deletedVersions: 0,
}

export const schemaListing: SchemaListing = {
  ...backupSource,
  compatibility: 'BACKWARD',
  mode: null,
  subjectList: [
    {
      name: 'orders-value',
      schemaType: 'AVRO',
      versions: 1200,
      latestVersion: 1200,
      latestId: 100_001,
      compatibility: 'FULL',
      mode: null,
      alias: null,
      deletedVersions: 4,
      pulledInVersions: 0,
    },
    {
      name: 'other',
      schemaType: null,
      versions: 0,
      latestVersion: null,
      latestId: null,
      compatibility: null,
      mode: 'READONLY',
      alias: 'orders-value',
      deletedVersions: 0,
      pulledInVersions: 0,
    },
  ],
}

export const schemaDiff: SchemaDiff = { ok: true, left: backupSource, right: registrySource, differences: [], ids: [] }

/** Of a registry that has some features, lacks others, and was not tried for the rest. */
export const registryProbe: RegistryProbe = {
  registry: 'http://registry:8081',
  flavour: 'karapace',
  version: '6.2.0',
  features: [
    { name: 'schema_types', label: 'Avro, JSON and Protobuf', has: true, detail: '' },
    {
      ...{ name: 'import', label: 'IDs and numbers as they were', has: false },
      detail: '`restore.force_ids` is refused; `rewrite_ids` works',
    },
    { name: 'modes', label: 'a mode for a single subject', has: null, detail: 'not tried; use --write' },
  ],
  registrations: 0,
  leftBehind: [],
}
