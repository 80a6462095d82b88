import { usageError } from '../../errors.ts'
import type { LocatedRestoreJob } from '../../jobs/schema-target.ts'
import type { Session } from '../session.ts'

/** The job of `--config`, or a job from `--path`, `--backup-id` and `--target`. */
export async function restoreJobOf(session: Session): Promise<LocatedRestoreJob> {
  const { config, path, backupId, target, set } = session.options
  const isPlain = path !== undefined || backupId !== undefined || target !== undefined
  if (config !== undefined && isPlain) throw usageError('pass either --config, or --path, --backup-id and --target')
  if (config !== undefined) {
    return { ...(await session.loadRestoreJob(config)), ...session.givenKeys() }
  }
  if (set.length > 0) throw usageError('--set needs --config')
  if (path === undefined || backupId === undefined || target === undefined) {
    throw usageError('pass --config, or --path, --backup-id and --target')
  }
  return session.actions.plainRestoreJob({ path, backupId, target, ...session.givenKeys() })
}
