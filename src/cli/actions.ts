import type { BackupSummary, Description } from '../archive/describe.ts'
import type { VerifyOptions, VerifyReport } from '../archive/verify.ts'
import type { DryRun } from '../backup/dry-run.ts'
import type { BackupReport } from '../backup/run-backup.ts'
import type { ShardReport } from '../backup/run-shard.ts'
import type { ShardNumber } from '../backup/shards.ts'
import type {
  BackupJob,
  Job,
  JobOptions,
  RestoreJob,
  SchemaBackupJob,
  SchemaJob,
  SchemaRestoreJob,
} from '../config/load-job.ts'
import type { BackupRun } from '../jobs/backup.ts'
import type { OffsetAt, PlainRestore } from '../jobs/compare.ts'
import type { Copies, CopyPlaces } from '../jobs/copy.ts'
import type { GivenKeys } from '../jobs/encryption.ts'
import type { KeyListing, KeyPlace, newKeyJob, RewrapReport, RewrapRequest } from '../jobs/keys.ts'
import type { OffsetsPlace, OffsetsSession } from '../jobs/offsets.ts'
import type { Hooks } from '../jobs/parts.ts'
import type { RunReport } from '../jobs/run-report.ts'
import type { SchemaSide } from '../jobs/schema-sides.ts'
import type { LocatedRestoreJob } from '../jobs/schema-target.ts'
import type { DiffOptions, SchemaRestoreDryRun, SchemaRestoreReport } from '../jobs/schemas.ts'
import type { ServedRegistry } from '../jobs/serve-registry.ts'
import type { CheckReport } from '../observe/finding.ts'
import type { PrintedDefinitions } from '../operator/crd/definitions.ts'
import type { ServeOptions, ServeParts } from '../operator/run/serve-operator.ts'
import type { SchemaBackupReport } from '../registry/backup-schemas.ts'
import type { ProbeOptions, RegistryProbe } from '../registry/probe/probe-registry.ts'
import type { SchemaDiff, SchemaListing } from '../registry/schema-listing.ts'
import type { RegistryServer } from '../registry/serve/open-registry-server.ts'
import type { CompareReport } from '../restore/compare.ts'
import type { BackupRestoreDryRun } from '../restore/dry-run.ts'
import type { OffsetMapFilter, OffsetMapRun, OffsetPlace } from '../restore/offset-map.ts'
import type { PlannedTopic } from '../restore/plan.ts'
import type { BackupRestoreReport } from '../restore/restore-backup.ts'
import type { DeleteReport } from '../retention/delete-backup.ts'
import type { PruneReport } from '../retention/outcome.ts'
import type { RetentionPolicy } from '../retention/policy.ts'
import type { StorageOptions } from '../storage/location.ts'
import type { Storage } from '../storage/storage.ts'

/** The report of a restore; groups are optional. */
export type ShownRestore = Optional<BackupRestoreReport, 'consumerGroups'>
export type ShownDryRun = Optional<BackupRestoreDryRun, 'consumerGroups'>
/** Whether it only says what it would do, and the term of the writers' leases where a job says it. */
type Act = { isDryRun: boolean; writerTtlMs?: number }
type Optional<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>

/** What the commands set in motion. The CLI itself only reads arguments and shows results. */
export interface Actions {
  loadJob(path: string, options: JobOptions): Promise<Job>
  /** This and the next fail for a job of another mode. */
  loadBackupJob(path: string, options: JobOptions): Promise<BackupJob>
  loadRestoreJob(path: string, options: JobOptions): Promise<RestoreJob>
  /** For what does not contact Kafka; a job of another mode than the given one is refused. */
  loadSchemaJob(path: string, options: JobOptions): Promise<SchemaJob>
  openLocation(path: string, keys: GivenKeys, signal: AbortSignal): Promise<Storage>
  openJobStorage(job: SchemaJob, keys: GivenKeys, signal: AbortSignal): Promise<Storage>
  /** Without keys: what is encrypted shows as it is stored. */
  openBareStorage(options: StorageOptions, signal: AbortSignal): Promise<Storage>
  runBackupJob(job: BackupRun, hooks: Hooks, signal: AbortSignal): Promise<BackupReport>
  runShardJob(job: BackupJob, shard: ShardNumber, hooks: Hooks, signal: AbortSignal): Promise<ShardReport>
  commitShardsJob(job: BackupJob, hooks: Hooks, signal: AbortSignal): Promise<BackupReport>
  /** Puts the report of a run into the storage of its job; answers with the key. */
  writeReport(job: Job, report: RunReport, signal: AbortSignal): Promise<string>
  dryRunJob(job: BackupRun, signal: AbortSignal): Promise<DryRun>
  runRestoreJob(job: RestoreJob, hooks: Hooks, signal: AbortSignal): Promise<ShownRestore>
  dryRunRestoreJob(job: RestoreJob, signal: AbortSignal): Promise<ShownDryRun>
  checkJob(job: Job, signal: AbortSignal): Promise<CheckReport>
  listBackups(storage: Storage, signal: AbortSignal): Promise<BackupSummary[]>
  describeBackup(storage: Storage, backupId: string, signal: AbortSignal): Promise<Description>
  verifyBackup(storage: Storage, backupId: string, options: VerifyOptions, signal: AbortSignal): Promise<VerifyReport>
  pruneAt(storage: Storage, policy: RetentionPolicy, hooks: Hooks, act: Act, signal: AbortSignal): Promise<PruneReport>
  /** Keeps an expired backup. */
  keepExpiredAt(storage: Storage, backupId: string, hooks: Hooks, signal: AbortSignal): Promise<void>
  /** The ids of backups, and of what may be left of them, that match; patterns have * and ?. */
  findBackupsAt(storage: Storage, match: readonly string[], signal: AbortSignal): Promise<string[]>
  /** Removes a whole backup. */
  deleteAt(storage: Storage, backupId: string, hooks: Hooks, act: Act, signal: AbortSignal): Promise<DeleteReport>
  /** Opens both locations for the time of the work. */
  withCopies<T>(places: CopyPlaces, hooks: Hooks, signal: AbortSignal, work: (copies: Copies) => Promise<T>): Promise<T>
  /** Serves progress during the work, if the job requests it. */
  watchVerify<T>(job: SchemaJob, hooks: Hooks, work: (hooks: Hooks) => Promise<T>): Promise<T>
  plainRestoreJob(plain: PlainRestore): Promise<LocatedRestoreJob>
  compareJob(job: LocatedRestoreJob, hooks: Hooks, signal: AbortSignal): Promise<CompareReport>
  planTopicsJob(job: LocatedRestoreJob, signal: AbortSignal): Promise<PlannedTopic[]>
  offsetMapJob(job: RestoreJob, filter: OffsetMapFilter, signal: AbortSignal): Promise<OffsetMapRun[]>
  findOffsetJob(job: RestoreJob, at: OffsetAt, signal: AbortSignal): Promise<OffsetPlace | undefined>
  /** Connects to nothing before it is needed. */
  openOffsets(place: OffsetsPlace, hooks: Hooks): Promise<OffsetsSession>
  backupSchemasJob(job: SchemaBackupJob, hooks: Hooks, signal: AbortSignal): Promise<SchemaBackupReport>
  restoreSchemasJob(job: SchemaRestoreJob, hooks: Hooks, signal: AbortSignal): Promise<SchemaRestoreReport>
  dryRunSchemasJob(job: SchemaRestoreJob, signal: AbortSignal): Promise<SchemaRestoreDryRun>
  listSchemasJob(side: SchemaSide, signal: AbortSignal): Promise<SchemaListing>
  diffSchemasJob(left: SchemaSide, right: SchemaSide, options: DiffOptions, signal: AbortSignal): Promise<SchemaDiff>
  newKeyJob(out: string | undefined): ReturnType<typeof newKeyJob>
  listKeysJob(place: KeyPlace, signal: AbortSignal): Promise<KeyListing>
  rewrapKeysJob(place: KeyPlace, request: RewrapRequest, signal: AbortSignal): Promise<RewrapReport>
  /** Until the signal. */
  serveOperator(options: ServeOptions, parts: ServeParts, signal: AbortSignal): Promise<void>
  /** The definitions of the operator's resources. */
  printDefinitions(apiGroup: string): Promise<PrintedDefinitions>
  openRegistry(options: ServedRegistry, signal: AbortSignal): Promise<RegistryServer>
  probeRegistryJob(side: SchemaSide, options: ProbeOptions, signal: AbortSignal): Promise<RegistryProbe>
}

/** Each loads its module when it is called: a command waits only for the code that it runs. */
export const realActions: Actions = {
  loadJob: async (...args) => (await import('../config/load-job.ts')).loadJob(...args),
  loadBackupJob: async (path, options) =>
    (await import('../config/load-job.ts')).loadJob(path, { ...options, mode: 'backup' }),
  loadRestoreJob: async (path, options) =>
    (await import('../config/load-job.ts')).loadJob(path, { ...options, mode: 'restore' }),
  loadSchemaJob: async (...args) => (await import('../config/load-job.ts')).loadSchemaJob(...args),
  openLocation: async (path, keys, signal) => {
    const { parseLocation } = await import('../storage/location.ts')
    const place = { storage: parseLocation(path), ...keys }
    return (await import('../jobs/parts.ts')).openExistingStorage(place, signal)
  },
  openJobStorage: async (job, keys, signal) =>
    (await import('../jobs/parts.ts')).openExistingStorage({ ...job, ...keys }, signal),
  openBareStorage: async (...args) => (await import('../jobs/parts.ts')).openBareStorage(...args),
  runBackupJob: async (...args) => (await import('../jobs/backup.ts')).runBackupJob(...args),
  runShardJob: async (...args) => (await import('../jobs/backup.ts')).runShardJob(...args),
  commitShardsJob: async (...args) => (await import('../jobs/backup.ts')).commitShardsJob(...args),
  writeReport: async (...args) => (await import('../jobs/run-report.ts')).writeReport(...args),
  dryRunJob: async (...args) => (await import('../jobs/backup.ts')).dryRunJob(...args),
  runRestoreJob: async (...args) => (await import('../jobs/restore.ts')).runRestoreJob(...args),
  dryRunRestoreJob: async (...args) => (await import('../jobs/restore.ts')).dryRunRestoreJob(...args),
  checkJob: async (...args) => (await import('../jobs/check.ts')).checkJob(...args),
  listBackups: async (...args) => (await import('../archive/describe.ts')).listBackups(...args),
  describeBackup: async (...args) => (await import('../archive/describe.ts')).describeBackup(...args),
  verifyBackup: async (...args) => (await import('../jobs/verify.ts')).verifyAt(...args),
  watchVerify: async (job, hooks, work) =>
    (await import('../jobs/parts.ts')).withMetrics({ ...job, name: 'verify', isSecondary: true }, hooks, work),
  pruneAt: async (...args) => (await import('../jobs/prune.ts')).pruneAt(...args),
  keepExpiredAt: async (...args) => (await import('../jobs/prune.ts')).keepExpiredAt(...args),
  findBackupsAt: async (...args) => (await import('../retention/delete-backup.ts')).findBackups(...args),
  deleteAt: async (...args) => (await import('../jobs/prune.ts')).deleteAt(...args),
  withCopies: async (...args) => (await import('../jobs/copy.ts')).withCopies(...args),
  plainRestoreJob: async plain => (await import('../jobs/compare.ts')).plainRestoreJob(plain),
  compareJob: async (...args) => (await import('../jobs/compare.ts')).compareJob(...args),
  planTopicsJob: async (...args) => (await import('../jobs/compare.ts')).planTopicsJob(...args),
  offsetMapJob: async (...args) => (await import('../jobs/compare.ts')).offsetMapJob(...args),
  findOffsetJob: async (...args) => (await import('../jobs/compare.ts')).findOffsetJob(...args),
  openOffsets: async (...args) => (await import('../jobs/offsets.ts')).openOffsets(...args),
  backupSchemasJob: async (...args) => (await import('../jobs/schemas.ts')).backupSchemasJob(...args),
  restoreSchemasJob: async (...args) => (await import('../jobs/schemas.ts')).restoreSchemasJob(...args),
  dryRunSchemasJob: async (...args) => (await import('../jobs/schemas.ts')).dryRunSchemasJob(...args),
  listSchemasJob: async (...args) => (await import('../jobs/schemas.ts')).listSchemasJob(...args),
  diffSchemasJob: async (...args) => (await import('../jobs/schemas.ts')).diffSchemasJob(...args),
  newKeyJob: async (...args) => (await import('../jobs/keys.ts')).newKeyJob(...args),
  listKeysJob: async (...args) => (await import('../jobs/keys.ts')).listKeysJob(...args),
  rewrapKeysJob: async (...args) => (await import('../jobs/keys.ts')).rewrapKeysJob(...args),
  serveOperator: async (...args) => (await import('../operator/run/serve-operator.ts')).serveOperator(...args),
  printDefinitions: async apiGroup => (await import('../operator/crd/definitions.ts')).printDefinitions(apiGroup),
  openRegistry: async (...args) => (await import('../jobs/serve-registry.ts')).openRegistry(...args),
  probeRegistryJob: async (...args) => (await import('../jobs/schemas.ts')).probeRegistryJob(...args),
}
