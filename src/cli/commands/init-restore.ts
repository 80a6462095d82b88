import { usageError } from '../../errors.ts'
import type { Connection } from '../../init/connection.ts'
import { formatRestoreJob, type PlannedRestore } from '../../init/format-restore-job.ts'
import type { OsoJob } from '../../init/oso-job.ts'
import { locationOf } from '../../init/oso-storage.ts'
import { storageSection } from '../../init/storage-section.ts'
import { shellQuote } from '../../lib/shell.ts'
import type { Session } from '../session.ts'
import { printRestore } from './init-report.ts'
import { NOT_SET } from './init-source.ts'

/** Writes the job of a restore. It contacts nothing: the archive has to be imported before the job can be checked. */
export async function initRestore(session: Session, connection: Connection, job: OsoJob): Promise<number> {
  const { out = 'restore.yaml', overwrite, schedule, path } = session.options
  if (schedule !== undefined) throw usageError('--schedule is for backups, and this job is a restore')
  if (out !== '-' && !overwrite) await session.actions.assertFree(out)
  const plan = planRestore(session, connection, job)
  const text = formatRestoreJob(plan)
  const known = Object.fromEntries(connection.secrets.map(({ variable, value }) => [variable, value ?? NOT_SET]))
  await session.parseRestoreJob(text, 'the new job file', known)
  if (out !== '-') await session.actions.writeJobFile(out, text, overwrite)
  const to = path ?? locationOf(plan.storage)
  const from = job.archives
  const command = `kafka-backup import --from ${quoted(from)} --backup-id ${shellQuote(plan.backupId)} --to ${quoted(to)}`
  printRestore(session, { plan, text, file: out === '-' ? undefined : out, importCommand: command })
  return 0
}

function planRestore(session: Session, connection: Connection, job: OsoJob): PlannedRestore {
  const { include, exclude, path, backupId = job.backupId, from = '' } = session.options
  const topics = {
    include: include.length > 0 ? include : job.topics.include,
    exclude: exclude.length > 0 ? exclude : job.topics.exclude,
  }
  for (const option of ['include', 'exclude'] as const) {
    const expression = topics[option].find(one => one.startsWith('~'))
    if (expression === undefined) continue
    throw usageError(
      `${from}: target.topics.${option}: the regular expression ${expression} has no counterpart; pass --${option} with names or patterns with * and ?`,
    )
  }
  if (path === undefined && Object.keys(job.storage).length === 0) {
    throw usageError(`pass --path: storage.backend in ${from} is not known`)
  }
  const storage = path === undefined ? job.storage : storageSection(path)
  const origin = { file: from, notes: job.notes, options: job.options, metrics: job.metrics }
  return { backupId, connection, topics, storage, origin }
}

function quoted(location: string | undefined): string {
  return location === undefined ? '<location>' : shellQuote(location)
}
