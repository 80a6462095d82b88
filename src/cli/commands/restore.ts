import { KafkaBackupError } from '../../errors.ts'
import { RestoreRefusal } from '../../restore/refusal.ts'
import { formatLocation } from '../../storage/location.ts'
import type { Session } from '../session.ts'
import { plural } from '../text.ts'
import { DIFFERENCES_FOUND } from './comparison.ts'
import { formatFindings } from './finding-table.ts'
import { showRestoreDryRun } from './restore-dry-run.ts'
import { formatRestore, restoreDocument } from './restore-report.ts'
import { watchJob } from './watch.ts'

/** Some groups have not got their positions; the same command goes on with them. */
const PARTLY_DONE = 4

export async function run(session: Session): Promise<number> {
  const { actions, options, signal } = session
  const job = await session.loadRestoreJob(options.config ?? '')
  if (options.dryRun) return showRestoreDryRun(session, job)
  const shown = { label: 'restore', preparing: 'looking at the backup and the target' }
  const report = await watchJob(session, shown, hooks => actions.runRestoreJob(job, hooks, signal)).catch(error => {
    throw error instanceof RestoreRefusal ? showRefusal(session, error) : error
  })
  session.print(
    () => formatRestore(report, job, session.look),
    () => restoreDocument(report, formatLocation(job.storage)),
  )
  if (report.verification?.ok === false) return DIFFERENCES_FOUND
  return report.consumerGroups?.totals.failed ? PARTLY_DONE : 0
}

/** People get a table, and an error that does not say it all again. Programs get the error with all in its message. */
function showRefusal(session: Session, refusal: RestoreRefusal): KafkaBackupError {
  const { findings, code, help } = refusal
  const isTold = session.tell(look => formatFindings('Found before the first write', findings, look).slice(1))
  if (!isTold || session.options.format === 'json') return refusal
  const errors = findings.filter(({ severity }) => severity === 'error')
  const what = code === 'ARCHIVE_DAMAGED' ? 'the backup is damaged' : 'the target is not fit for this restore'
  const message = `${what}: ${plural(errors.length, 'problem')}`
  return new KafkaBackupError(code, message, { cause: refusal, help })
}
