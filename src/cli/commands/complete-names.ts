import { KafkaBackupError } from '../../errors.ts'
import { commandTable } from '../command-table.ts'
import { readUnfinished, type UnfinishedLine } from '../completed-words.ts'
import type { Session } from '../session.ts'
import { withOpen } from './backups-at.ts'

/** Names that no shell treats as anything but text. A hostile archive may hold others. */
const safeName = /^[A-Za-z0-9._][A-Za-z0-9._-]*$/

/** Prints names for a completion script. A location that cannot be read has none: a shell has no place for an error. */
export async function completeNames(session: Session): Promise<number> {
  const line = readUnfinished(session.options.word, commandTable)
  const names = (await findNames(session, line)).filter(name => safeName.test(name))
  // A shell would offer an empty line as a name.
  if (names.length === 0 && session.options.format !== 'json') return 0
  session.print(
    () => names,
    () => ({ names }),
  )
  return 0
}

async function findNames(session: Session, { path, config, backupId, typing }: UnfinishedLine): Promise<string[]> {
  const { actions, signal, env } = session
  const location = path ?? env.KAFKA_BACKUP_LOCATION
  try {
    const job = config === undefined ? undefined : await session.loadClusterlessJob(config)
    if (!job && !location) return []
    const storage = await (job
      ? actions.openJobStorage(job, {}, signal)
      : actions.openLocation(location ?? '', {}, signal))
    return await withOpen(storage, async opened => {
      if (typing === 'backup-id') return actions.listBackupIds(opened, signal)
      const id = backupId ?? job?.backupId
      if (typing !== 'topic' || id === undefined) return []
      const { topics } = await actions.openBackup(opened, id, signal)
      return [...new Set(topics.map(({ name }) => name))].sort()
    })
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof KafkaBackupError)) throw error
    return []
  }
}
