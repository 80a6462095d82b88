import { KafkaBackupError } from '../../errors.ts'
import { RestoreRefusal } from '../../restore/refusal.ts'
import { formatLocation } from '../../storage/location.ts'
import { restoreFacts } from '../result/data-facts.ts'
import type { Session } from '../session.ts'
import { DIFFERENCES_FOUND } from './comparison.ts'
import { withChoice } from './generation-choice.ts'
import { keepReport } from './keep-report.ts'
import { isOpen, LOSSY } from './loss-table.ts'
import { showRefusal } from './refused.ts'
import { showRestoreDryRun } from './restore-dry-run.ts'
import { formatRestore, isPartlyDone, restoreDocument } from './restore-report.ts'
import { watchJob } from './watch.ts'

const PARTLY_DONE = 4

export async function run(session: Session): Promise<number> {
  const { actions, options, signal } = session
  const job = withChoice(await session.loadRestoreJob(options.config ?? ''), options)
  if (options.dryRun && options.report) throw new KafkaBackupError('USAGE', '--dry-run and --report exclude each other')
  if (options.dryRun) return showRestoreDryRun(session, job)
  const shown = { label: 'restore', preparing: 'checking the backup and the target' }
  const report = await watchJob(session, shown, hooks => actions.runRestoreJob(job, hooks, signal)).catch(error => {
    throw error instanceof RestoreRefusal ? showRefusal(session, error) : error
  })
  session.outcome.note(restoreFacts(report))
  const document = restoreDocument(report, formatLocation(job.storage))
  session.print(
    () => formatRestore(report, job, session.style),
    () => document,
  )
  await keepReport(session, job, document)
  if (report.verification?.ok === false) return DIFFERENCES_FOUND
  if (isPartlyDone(report)) return PARTLY_DONE
  return isOpen(report.schemas) ? LOSSY : 0
}
