import { type AccessPlan, type AccessReport, countBy } from '../access/access-plan.ts'
import type { AccessWish } from '../access/take-access.ts'
import { readAccess } from '../archive/access.ts'
import { readManifest } from '../archive/catalog.ts'
import type { BackupParts } from '../backup/round.ts'
import type { BackupJob, RestoreJob } from '../config/load-job.ts'
import { hasCode, type KafkaBackupError } from '../errors.ts'
import type { Cluster } from '../kafka/cluster.ts'
import type { Check } from '../observe/check.ts'
import { findPlan } from '../restore/find-plan.ts'
import type { RestoreOptions } from '../restore/options.ts'
import { readIfAllowed } from '../restore/prepare-restore.ts'
import type { Storage } from '../storage/storage.ts'
import type { Parts } from './parts.ts'

/** The access rules of a backup on their way to the target. */
export interface AccessSession {
  plan: AccessPlan
  /** What the user of the job has to be allowed for it. */
  checks: Check[]
  /** Makes what the target lacks, when all else is restored. */
  run(): Promise<AccessReport>
}

/** A reading of the access rules that a job keeps, as often as it is asked for one; nothing where it keeps none. */
export function accessReader({ backup }: BackupJob, { cluster }: Parts): Pick<BackupParts, 'readAccess'> {
  if (!isAsked(backup)) return {}
  return {
    readAccess: async signal => {
      const { takeAccess } = await import('../access/take-access.ts')
      return takeAccess(cluster, backup, signal)
    },
  }
}

/** Reads the backup and the target, and writes nothing. Undefined where the job asks for none of it. */
export async function openAccessSession(
  { restore }: Pick<RestoreJob, 'restore'>,
  options: RestoreOptions,
  { cluster, storage }: { cluster: Cluster; storage: Storage },
  signal: AbortSignal,
): Promise<AccessSession | undefined> {
  if (!isAsked(restore)) return undefined
  const [{ planAccess }, { readExisting, tryQuotas }] = await Promise.all([
    import('../access/plan-access.ts'),
    import('../access/survey-target.ts'),
  ])
  const { plan: restored } = await findPlan(options, { cluster, storage, readNotes: readIfAllowed }, signal)
  const { backupId, generation } = restored
  const sources = new Map(restored.topics.map(({ name, source }) => [name, source.name]))
  const { access: section } = await readManifest(storage, backupId, generation, signal)
  const file = section && (await readAccess(storage, section, signal).catch(ifDamaged))
  const existing = await readExisting(cluster, restore, signal)
  const planned = planAccess({ ...restore, sources }, { generation, section, file }, existing)
  const plan = await tryQuotas(cluster, planned, signal)
  return {
    plan,
    checks: checksOf(planned),
    run: async () => {
      const { runAccess } = await import('../access/run-access.ts')
      return runAccess(plan, cluster, signal)
    },
  }
}

/** Told with all else that stands in the way of a restore. */
function ifDamaged(error: unknown): KafkaBackupError {
  if (hasCode(error, 'ARCHIVE_DAMAGED')) return error
  throw error
}

function isAsked({ acls, quotas, users }: AccessWish): boolean {
  return acls || quotas || users
}

/** What is to be made; and of the permissions those that are missing for it. */
function checksOf(plan: AccessPlan): Check[] {
  const { findings, acls, quotas, users } = plan
  const denied = findings.filter(({ code }) => code === 'KAFKA_DENIED')
  const missing = denied.map(({ remedy, details }) => ({
    subject: 'cluster',
    action: details?.operation ?? '',
    allowed: false,
    detail: remedy,
  }))
  const counts = [
    acls && `${countBy(acls, 'create')} ACLs to create, ${countBy(acls, 'kept')} are there`,
    quotas && `${countBy(quotas, 'create')} quotas to set, ${countBy(quotas, 'kept')} are there`,
    users && `${countBy(users, 'cannot')} users to create by hand, ${countBy(users, 'kept')} are there`,
  ].filter(one => one !== undefined)
  if (counts.length === 0) return missing
  return [{ subject: 'access rules', action: 'fits', allowed: true, detail: counts.join('; ') }, ...missing]
}
