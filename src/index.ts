/** The library: what programs may rely on. Everything else is inside. */
export { listBackupIds, listGenerations, openBackup, readIndex } from './archive/catalog.ts'
export { type BackupSummary, type Description, describeBackup, listBackups } from './archive/describe.ts'
export type { Gap, Manifest, ManifestPartition, ManifestTopic, PartitionIndex, Segment } from './archive/manifest.ts'
export { readSegment } from './archive/segment-reader.ts'
export { type VerifyReport, verifyBackup } from './archive/verify.ts'
export type { BackupReport } from './backup/run-backup.ts'
export type { ShardReport } from './backup/run-shard.ts'
export { decodeRecords, type KafkaRecord } from './batch/records.ts'
export { walkBatches } from './batch/walk.ts'
export { type BackupJob, type Job, loadJob, parseJob, type RestoreJob } from './config/load-job.ts'
export { type ErrorCode, errorTable, KafkaBackupError } from './errors.ts'
export type { OnProgress, ProgressEvent } from './observe/progress.ts'
export type { CompareReport } from './restore/compare.ts'
export type { RestoreDryRun } from './restore/dry-run.ts'
export type { OffsetPlace } from './restore/find-offset.ts'
export type { OffsetMapFilter, OffsetMapRun } from './restore/offset-map.ts'
export type { RestoreReport } from './restore/report.ts'
export type { Storage } from './storage/storage.ts'
export {
  checkJob,
  commitShardsJob,
  compareJob,
  dryRunJob,
  dryRunRestoreJob,
  findOffsetJob,
  offsetMapJob,
  openJobStorage,
  openLocation,
  runBackupJob,
  runRestoreJob,
  runShardJob,
} from './wiring.ts'
