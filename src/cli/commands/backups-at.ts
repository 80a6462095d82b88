import type { ClusterlessJob } from '../../config/load-job.ts'
import { usageError } from '../../errors.ts'
import { parseLocation } from '../../storage/location.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Session } from '../session.ts'

/** How to open the storage. */
interface Opener {
  ofJob(job: ClusterlessJob): Promise<Storage>
  ofPath(path: string): Promise<Storage>
}

/** Decrypts with the configured keys. */
function opened(session: Session): Opener {
  const { actions, signal } = session
  return {
    ofJob: job => actions.openJobStorage(job, session.givenKeys(), signal),
    ofPath: path => actions.openLocation(path, session.givenKeys(), signal),
  }
}

/** Does not decrypt: encrypted objects are read as stored. */
export function bare({ actions, signal }: Session): Opener {
  return {
    ofJob: job => actions.openBareStorage(job.storage, signal),
    ofPath: path => actions.openBareStorage(parseLocation(path), signal),
  }
}

/** Opens the location of `--path` or of the job of `--config` during the work. */
export async function withBackupsAt<T>(
  session: Session,
  work: (storage: Storage, job: ClusterlessJob | undefined) => Promise<T>,
  open: Opener = opened(session),
): Promise<T> {
  const { path, config, set } = session.options
  if (path !== undefined && config !== undefined) throw usageError('pass either --path or --config, not both')
  if (config === undefined && set.length > 0) throw usageError('--set needs --config')
  if (config !== undefined) {
    const job = await session.loadClusterlessJob(config)
    return withOpen(await open.ofJob(job), storage => work(storage, job))
  }
  if (path === undefined) throw usageError('pass --path or --config, or set KAFKA_BACKUP_LOCATION')
  return withOpen(await open.ofPath(path), storage => work(storage, undefined))
}

/** Like `withBackupsAt`, for one backup: `--backup-id`, or the one of the job. */
export function withBackup<T>(
  session: Session,
  work: (storage: Storage, backupId: string, job: ClusterlessJob | undefined) => Promise<T>,
  open?: Opener,
): Promise<T> {
  const { backupId, config } = session.options
  if (backupId === undefined && config === undefined) throw usageError('pass --backup-id or --config')
  return withBackupsAt(session, (storage, job) => work(storage, backupId ?? job?.backupId ?? '', job), open)
}

export async function withOpen<T>(storage: Storage, work: (storage: Storage) => Promise<T>): Promise<T> {
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}
