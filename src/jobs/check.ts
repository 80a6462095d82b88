import type { BackupJob, ClusterlessJob, Job } from '../config/load-job.ts'
import { readKeysFile } from '../encryption/key-book.ts'
import { loadCredentials } from '../encryption/load-credentials.ts'
import { openKeys } from '../encryption/open-keys.ts'
import { hasCode } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import { attempt, type Check, type CheckReport } from '../observe/finding.ts'
import { checkLocation, findProtection } from '../storage/check-location.ts'
import { openStorage } from '../storage/open-storage.ts'
import { backupOptions } from './backup.ts'
import { readOnly, withParts } from './parts.ts'
import { checkRegistry } from './registry.ts'
import { checkRestoreJob } from './restore.ts'

/** Tries out what a job needs, of either kind, and writes nothing but the probe of a bucket for backups. */
export function checkJob(job: Job, signal: AbortSignal): Promise<CheckReport> {
  return job.mode === 'restore' ? checkRestoreJob(job, signal) : checkBackupJob(job, signal)
}

function checkBackupJob(job: BackupJob, signal: AbortSignal): Promise<CheckReport> {
  return withParts(job, readOnly, signal, async parts => {
    const { checkBackup } = await import('../backup/check.ts')
    const access = await checkLocation({ options: job.storage, storage: parts.storage }, signal)
    const storageChecks = access.map(one => ({ subject: `storage ${parts.storage.location}`, ...one }))
    const registryChecks = await checkRegistry(job, signal)
    const groupChecks = await checkGroups(job, parts.cluster, signal)
    const keyChecks = await checkEncryption(job, signal)
    const accessChecks = await checkAccessRules(job, parts.cluster, signal)
    const otherChecks = [...storageChecks, ...keyChecks, ...registryChecks, ...groupChecks, ...accessChecks]
    const report = await checkBackup(backupOptions(job), { ...parts, otherChecks }, signal)
    const isMerged = job.backup.continuous && job.storage.backend !== 'filesystem'
    const protection = isMerged ? await findProtection(parts.storage, parts.clock.now(), signal) : undefined
    return { ...report, warnings: [...(protection === undefined ? [] : [protection]), ...report.warnings] }
  })
}

/**
 * Reads the location of a job, and writes to it for backups; connects to nothing else. A folder keeps nothing, a bucket the
 * probe object.
 */
export async function checkJobStorage(
  { mode, storage: options }: ClusterlessJob,
  signal: AbortSignal,
): Promise<CheckReport> {
  const storage = openStorage(options)
  try {
    const found = await checkLocation({ options, storage }, signal, mode === 'restore')
    const checks = found.map(one => ({ subject: `storage ${storage.location}`, ...one }))
    return { ok: checks.every(({ allowed }) => allowed), clusterId: null, brokers: 0, checks, warnings: [] }
  } finally {
    await storage.close()
  }
}

/** Hidden groups are reported, and do not stop a backup. */
async function checkGroups({ backup }: BackupJob, cluster: Cluster, signal: AbortSignal): Promise<Check[]> {
  if (backup.consumerGroups.include.length === 0) return []
  const check = await attempt('consumer groups', 'list', signal, async () => {
    const [{ listGroups }, { maySeeAllGroups }] = await Promise.all([
      import('../kafka/groups.ts'),
      import('../kafka/permissions.ts'),
    ])
    const { length } = await listGroups(cluster, signal)
    const hidden = (await maySeeAllGroups(cluster, signal))
      ? ''
      : '; others may be hidden: grant Describe on the cluster'
    return `${length} on the cluster${hidden}`
  })
  return [check]
}

/** Whether ACLs, quotas and users can be read, where the job wants them. */
async function checkAccessRules({ backup }: BackupJob, cluster: Cluster, signal: AbortSignal): Promise<Check[]> {
  const wanted = (['acls', 'quotas', 'users'] as const).filter(kind => backup[kind])
  if (wanted.length === 0) return []
  const [{ listAcls }, { listQuotas }, { listScramUsers }] = await Promise.all([
    import('../kafka/acls.ts'),
    import('../kafka/client-quotas.ts'),
    import('../kafka/scram-users.ts'),
  ])
  const kinds = { acls: listAcls, quotas: listQuotas, users: listScramUsers }
  return Promise.all(
    wanted.map(kind => attempt(`backup.${kind}`, 'read', signal, () => countRules(() => kinds[kind](cluster, signal)))),
  )
}

/** A cluster without an authorizer has no ACLs, and old brokers cannot list quotas or users; a backup reports both and continues. */
async function countRules(list: () => Promise<unknown[]>): Promise<string> {
  try {
    return `${(await list()).length} on the cluster`
  } catch (error) {
    if (hasCode(error, 'KAFKA_NO_AUTHORIZER')) return 'none: the cluster has no authorizer'
    if (hasCode(error, 'KAFKA_UNSUPPORTED')) return `none: ${error.message}. The backup will hold none, and warn`
    throw error
  }
}

/** That the keys of a job can be read, and open its backup where there is one. Nothing is written. */
async function checkEncryption(job: Job, signal: AbortSignal): Promise<Check[]> {
  const { encryption, backupId } = job
  if (!encryption) return []
  const check = await attempt('encryption', 'open', signal, async () => {
    const credentials = await loadCredentials(encryption.recipients, process.env)
    const storage = openStorage(job.storage)
    try {
      const file = await readKeysFile(storage, backupId, signal)
      if (!file) return `the backup ${backupId} has no keys yet; its first run creates them`
      const { section } = await openKeys(file, { credentials, mayAskKms: false }, signal)
      return `the data key ${section.data_key} opens`
    } finally {
      await storage.close()
    }
  })
  return [check]
}
