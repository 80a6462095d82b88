/** The library: what programs may rely on. Everything else is inside. docs/library.md explains it. */

export type { DryRun as BackupDryRun } from './backup/dry-run.ts'
export type { ShardReport } from './backup/run-shard.ts'
export type { ShardNumber } from './backup/shards.ts'
export type { BackupJob, Job, RestoreJob } from './config/load-job.ts'
export { errorTable } from './error-table.ts'
export { type ErrorCode, type ErrorDetails, KafkaBackupError } from './errors.ts'
export type { OffsetAt } from './jobs/compare.ts'
export type { SchemaRestoreDryRun, SchemaRestoreReport } from './jobs/schemas.ts'
export {
  type BackupDescription,
  type BackupPlace,
  describe,
  type ListedBackup,
  type ListedGenerations,
  list,
  listGenerations,
  type StateChoice,
  type VerifiedBackup,
  verify,
} from './library/archive.ts'
export { type BackupReport, backup, backupShard, check, commitShards } from './library/backup.ts'
export { type CopiedBackup, type CopyRequest, copyBackup } from './library/copy.ts'
export {
  type BackupJobDocument,
  type JobInput,
  type LoadJobOptions,
  loadJob,
  type RestoreJobDocument,
  type SchemaJobInput,
} from './library/job.ts'
export type { Encryption, Place } from './library/place.ts'
export { type PruneOptions, prune } from './library/prune.ts'
export { type RepairedBackup, repair } from './library/repair.ts'
export {
  compare,
  findOffset,
  finishRestore,
  offsetMap,
  prepareRestore,
  restore,
  restoreShard,
} from './library/restore.ts'
export type { RunOptions } from './library/run.ts'
export { backupSchemas, diffSchemas, listSchemas, restoreSchemas, type SchemaPlace } from './library/schemas.ts'
export type { CheckReport, Finding } from './observe/finding.ts'
export type { GapReason, OnProgress, PartitionBound, ProgressEvent } from './observe/progress.ts'
export type { SchemaBackupReport } from './registry/backup-schemas.ts'
export type { SchemaDifference } from './registry/diff-snapshots.ts'
export type { SchemaDryRun, SchemaReport } from './registry/restore/schema-report.ts'
export type { ListedSubject, SchemaDiff, SchemaListing, SchemaSource } from './registry/schema-listing.ts'
export type { CompareReport } from './restore/compare.ts'
export type { Difference } from './restore/difference.ts'
export type { BackupRestoreDryRun as RestoreDryRun } from './restore/dry-run.ts'
export type { OffsetMapFilter, OffsetMapRun, OffsetPlace } from './restore/offset-map.ts'
export type { PreparedRestore } from './restore/prepare-restore.ts'
export { RestoreRefusal } from './restore/refusal.ts'
export type { BackupRestoreReport as RestoreReport } from './restore/restore-backup.ts'
export type { RestoreShardReport } from './restore/restore-shard.ts'
export type { RestoreShard } from './restore/shard-plan.ts'
export type { BackupOutcome, PruneReport } from './retention/outcome.ts'
export type { RetentionPolicy } from './retention/policy.ts'
