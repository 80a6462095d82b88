/** The library: what programs may rely on. Everything else is inside. docs/library.md explains it. */

export type { DryRun as BackupDryRun } from './backup/dry-run.ts'
export type { ShardReport } from './backup/run-shard.ts'
export type { ShardNumber } from './backup/shards.ts'
export type { BackupJob, Job, RestoreJob } from './config/load-job.ts'
export { type ErrorCode, errorTable, KafkaBackupError } from './errors.ts'
export {
  type BackupDescription,
  type BackupPlace,
  describe,
  type ListedBackup,
  list,
  type Place,
  type VerifiedBackup,
  verify,
} from './library/archive.ts'
export { type BackupReport, backup, backupShard, check, commitShards } from './library/backup.ts'
export {
  type BackupJobDocument,
  type JobInput,
  type LoadJobOptions,
  loadJob,
  type RestoreJobDocument,
} from './library/job.ts'
export { compare, findOffset, offsetMap, restore } from './library/restore.ts'
export type { RunOptions } from './library/run.ts'
export type { CheckReport } from './observe/check.ts'
export type { Finding } from './observe/finding.ts'
export type { GapReason, OnProgress, PartitionBound, ProgressEvent } from './observe/progress.ts'
export type { CompareReport } from './restore/compare.ts'
export type { Difference } from './restore/difference.ts'
export type { RestoreDryRun } from './restore/dry-run.ts'
export type { OffsetPlace } from './restore/find-offset.ts'
export type { OffsetMapFilter, OffsetMapRun } from './restore/offset-map.ts'
export { RestoreRefusal } from './restore/refusal.ts'
export type { RestoreReport } from './restore/report.ts'
export type { OffsetAt } from './wiring/restored-jobs.ts'
