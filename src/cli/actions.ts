import type { BackupJob, ClusterlessJob, Job, JobOptions, RestoreJob } from '../config/load-job.ts'
import type { ShownRecord } from '../inspect/print-format.ts'
import type { Copies, CopyPlaces } from '../jobs/copy.ts'
import type { GivenKeys } from '../jobs/encryption.ts'
import type { CatRequest } from '../jobs/inspect.ts'
import type { Hooks } from '../jobs/parts.ts'
import type { Probe } from '../jobs/restore.ts'
import type { BackupRestoreDryRun } from '../restore/dry-run.ts'
import type { BackupRestoreReport } from '../restore/restore-backup.ts'
import type { Storage } from '../storage/storage.ts'

/** The report of a restore; groups are optional. */
export type ShownRestore = Optional<BackupRestoreReport, 'consumerGroups'>
export type ShownDryRun = Optional<BackupRestoreDryRun, 'consumerGroups'>
type Optional<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>

/** What the commands set in motion. The CLI itself only reads arguments and shows results. */
export type Actions = typeof realActions

const config = () => import('../config/load-job.ts')
const backup = () => import('../jobs/backup.ts')
const comparison = () => import('../jobs/compare.ts')
const jobFile = () => import('../init/write-job-file.ts')
const keys = () => import('../jobs/keys.ts')
const parts = () => import('../jobs/parts.ts')
const prune = () => import('../jobs/prune.ts')
const restore = () => import('../jobs/restore.ts')
const schemas = () => import('../jobs/schemas.ts')

/** Each loads its module when it is called: a command waits only for the code that it runs. */
export const realActions = {
  loadJob: async (path: string, options: JobOptions): Promise<Job> => (await config()).loadJob(path, options),
  /** This and the next fail for a job of another mode. */
  loadBackupJob: async (path: string, options: JobOptions): Promise<BackupJob> =>
    (await config()).loadJob(path, { ...options, mode: 'backup' }),
  parseBackupJob: async (text: string, options: Omit<JobOptions, 'mode'> & { source: string }): Promise<BackupJob> =>
    (await config()).parseJob(text, { ...options, mode: 'backup' }),
  parseRestoreJob: async (text: string, options: Omit<JobOptions, 'mode'> & { source: string }): Promise<RestoreJob> =>
    (await config()).parseJob(text, { ...options, mode: 'restore' }),
  loadRestoreJob: async (path: string, options: JobOptions): Promise<RestoreJob> =>
    (await config()).loadJob(path, { ...options, mode: 'restore' }),
  /** For what does not contact Kafka; a job of another mode than the given one is refused. */
  loadClusterlessJob: async (path: string, options: JobOptions): Promise<ClusterlessJob> =>
    (await config()).loadClusterlessJob(path, options),
  openLocation: async (path: string, keys: GivenKeys, signal: AbortSignal): Promise<Storage> => {
    const { parseLocation } = await import('../storage/location.ts')
    return (await parts()).openExistingStorage({ storage: parseLocation(path), ...keys }, signal)
  },
  openJobStorage: async (job: ClusterlessJob, keys: GivenKeys, signal: AbortSignal): Promise<Storage> =>
    (await parts()).openExistingStorage({ ...job, ...keys }, signal),
  /** Without keys: what is encrypted shows as it is stored. */
  openBareStorage: lazy(parts, one => one.openBareStorage),
  runBackupJob: lazy(backup, one => one.runBackupJob),
  runShardJob: lazy(backup, one => one.runShardJob),
  commitShardsJob: lazy(backup, one => one.commitShardsJob),
  dryRunJob: lazy(backup, one => one.dryRunJob),
  /** Puts the report of a run into the storage of its job; answers with the key. */
  writeReport: lazy(
    () => import('../jobs/run-report.ts'),
    one => one.writeReport,
  ),
  runRestoreJob: async (job: RestoreJob, hooks: Hooks, signal: AbortSignal, probe?: Probe): Promise<ShownRestore> =>
    (await restore()).runRestoreJob(job, hooks, signal, probe),
  prepareRestoreJob: lazy(restore, one => one.prepareRestoreJob),
  restoreShardJob: lazy(restore, one => one.restoreShardJob),
  finishRestoreJob: async (job: RestoreJob, hooks: Hooks, signal: AbortSignal): Promise<ShownRestore> =>
    (await restore()).finishRestoreJob(job, hooks, signal),
  dryRunRestoreJob: async (job: RestoreJob, signal: AbortSignal, probe?: Probe): Promise<ShownDryRun> =>
    (await restore()).dryRunRestoreJob(job, signal, probe),
  checkJob: lazy(
    () => import('../jobs/check.ts'),
    one => one.checkJob,
  ),
  checkJobStorage: lazy(
    () => import('../jobs/check.ts'),
    one => one.checkJobStorage,
  ),
  /** For `init`. */
  readConnectionFile: lazy(
    () => import('../init/read-connection.ts'),
    one => one.readConnectionFile,
  ),
  /** Undefined for a file that is not a job of OSO kafka-backup. */
  readOsoJobFile: lazy(
    () => import('../init/read-connection.ts'),
    one => one.readOsoJobFile,
  ),
  surveyCluster: lazy(
    () => import('../jobs/survey-cluster.ts'),
    one => one.surveyCluster,
  ),
  assertFree: lazy(jobFile, one => one.assertFree),
  writeJobFile: lazy(jobFile, one => one.writeJobFile),
  listBackups: lazy(
    () => import('../archive/list-backups.ts'),
    one => one.listBackups,
  ),
  listBackupIds: lazy(
    () => import('../archive/catalog.ts'),
    one => one.listBackupIds,
  ),
  readStatus: lazy(
    () => import('../jobs/read-status.ts'),
    one => one.readStatus,
  ),
  /** Posts to the webhooks of a job; answers with warnings. */
  notifyWebhooks: lazy(
    () => import('../jobs/notify.ts'),
    one => one.notifyWebhooks,
  ),
  /** The newest state of a backup. */
  openBackup: lazy(
    () => import('../archive/catalog.ts'),
    one => one.openBackup,
  ),
  /** The newest generations of one backup. */
  listGenerationsOf: lazy(
    () => import('../archive/generations.ts'),
    one => one.listGenerationsOf,
  ),
  describeBackup: lazy(
    () => import('../archive/describe.ts'),
    one => one.describeBackup,
  ),
  diffGenerations: lazy(
    () => import('../archive/diff-generations.ts'),
    one => one.diffGenerations,
  ),
  /** Records as they are read. */
  catAt: async <T>(
    storage: Storage,
    backupId: string,
    request: CatRequest,
    signal: AbortSignal,
    work: (records: AsyncIterable<ShownRecord>) => Promise<T>,
  ): Promise<T> => (await import('../jobs/inspect.ts')).catAt(storage, backupId, request, signal, work),
  exportAt: lazy(
    () => import('../jobs/export.ts'),
    one => one.exportAt,
  ),
  /** Serves the console until it is closed. */
  openConsole: lazy(
    () => import('../jobs/serve-console.ts'),
    one => one.openConsole,
  ),
  verifyBackup: lazy(
    () => import('../jobs/verify.ts'),
    one => one.verifyAt,
  ),
  /** Serves progress during the work, if the job requests it. */
  watchVerify: async <T>(job: ClusterlessJob, hooks: Hooks, work: (hooks: Hooks) => Promise<T>): Promise<T> =>
    (await parts()).withMetrics({ ...job, name: 'verify', isSecondary: true }, hooks, work),
  pruneAt: lazy(prune, one => one.pruneAt),
  /** Keeps an expired backup. */
  keepExpiredAt: lazy(prune, one => one.keepExpiredAt),
  /** Pins a generation. */
  repairAt: lazy(
    () => import('../jobs/repair.ts'),
    one => one.repairAt,
  ),
  holdAt: lazy(prune, one => one.holdAt),
  releaseAt: lazy(
    () => import('../retention/hold-generation.ts'),
    one => one.releaseGeneration,
  ),
  /** Removes a whole backup. */
  deleteAt: lazy(prune, one => one.deleteAt),
  /** The ids of backups, and of what may be left of them, that match; patterns have * and ?. */
  findBackupsAt: lazy(
    () => import('../retention/delete-backup.ts'),
    one => one.findBackups,
  ),
  /** Opens both locations for the time of the work. */
  withCopies: async <T>(
    places: CopyPlaces,
    hooks: Hooks,
    signal: AbortSignal,
    work: (copies: Copies) => Promise<T>,
  ): Promise<T> => (await import('../jobs/copy.ts')).withCopies(places, hooks, signal, work),
  importJob: lazy(
    () => import('../jobs/import.ts'),
    one => one.importJob,
  ),
  runDrillJob: lazy(
    () => import('../jobs/drill.ts'),
    one => one.runDrillJob,
  ),
  /** Checks the signature and the reports of a drill. */
  verifyEvidenceAt: lazy(
    () => import('../jobs/verify-drill.ts'),
    one => one.verifyEvidenceAt,
  ),
  verifyNewestEvidence: lazy(
    () => import('../jobs/verify-drill.ts'),
    one => one.verifyNewestEvidence,
  ),
  plainRestoreJob: lazy(comparison, one => one.plainRestoreJob),
  compareJob: lazy(comparison, one => one.compareJob),
  planTopicsJob: lazy(comparison, one => one.planTopicsJob),
  offsetMapJob: lazy(comparison, one => one.offsetMapJob),
  findOffsetJob: lazy(comparison, one => one.findOffsetJob),
  /** Connects to nothing before it is needed. */
  openOffsets: lazy(
    () => import('../jobs/offsets.ts'),
    one => one.openOffsets,
  ),
  backupSchemasJob: lazy(schemas, one => one.backupSchemasJob),
  restoreSchemasJob: lazy(schemas, one => one.restoreSchemasJob),
  dryRunSchemasJob: lazy(schemas, one => one.dryRunSchemasJob),
  listSchemasJob: lazy(schemas, one => one.listSchemasJob),
  diffSchemasJob: lazy(schemas, one => one.diffSchemasJob),
  probeRegistryJob: lazy(schemas, one => one.probeRegistryJob),
  newKeyJob: lazy(keys, one => one.newKeyJob),
  listKeysJob: lazy(keys, one => one.listKeysJob),
  rewrapKeysJob: lazy(keys, one => one.rewrapKeysJob),
  /** Until the signal. */
  serveOperator: lazy(
    () => import('../operator/run/serve-operator.ts'),
    one => one.serveOperator,
  ),
  /** The resources of the operator in a cluster, for the kubectl plugin. */
  openPlugin: lazy(
    () => import('../operator/kubectl/open-plugin.ts'),
    one => one.openPlugin,
  ),
  /** The definitions of the operator's resources. */
  printDefinitions: lazy(
    () => import('../operator/crd/definitions.ts'),
    one => one.printDefinitions,
  ),
  openRegistry: lazy(
    () => import('../jobs/serve-registry.ts'),
    one => one.openRegistry,
  ),
}

function lazy<M, A extends unknown[], R>(
  load: () => Promise<M>,
  pick: (module: M) => (...args: A) => R | Promise<R>,
): (...args: A) => Promise<R> {
  return async (...args) => pick(await load())(...args)
}
