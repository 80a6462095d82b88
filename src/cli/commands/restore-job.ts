import { KafkaBackupError } from '../../errors.ts'
import type { LocatedRestoreJob } from '../../jobs/schema-target.ts'
import type { Session } from '../session.ts'

/** The job of `--config`, or a job from `--path`, `--backup-id` and `--target`. */
export async function restoreJobOf(session: Session): Promise<LocatedRestoreJob> {
  const { config, path, backupId, target, set } = session.options
  const isPlain = path !== undefined || backupId !== undefined || target !== undefined
  if (config !== undefined && isPlain) throw usage('pass either --config, or --path, --backup-id and --target')
  if (config !== undefined) {
    return { ...(await session.loadRestoreJob(config)), ...session.givenKeys() }
  }
  if (set.length > 0) throw usage('--set needs --config')
  if (path === undefined || backupId === undefined || target === undefined) {
    throw usage('pass --config, or --path, --backup-id and --target')
  }
  return session.actions.plainRestoreJob({ path, backupId, target, ...session.givenKeys() })
}

function usage(message: string): KafkaBackupError {
  return new KafkaBackupError('USAGE', message)
}
