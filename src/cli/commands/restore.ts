import type { Hooks } from '../../jobs/parts.ts'
import { RestoreRefusal } from '../../restore/refusal.ts'
import { formatLocation } from '../../storage/location.ts'
import { restoreFacts } from '../result/data-facts.ts'
import type { Session } from '../session.ts'
import { DIFFERENCES_FOUND } from './comparison.ts'
import { withChoice } from './generation-choice.ts'
import { keepReport } from './keep-report.ts'
import { letHeapGrowForFew } from './let-heap-grow.ts'
import { isOpen, LOSSY } from './loss-table.ts'
import { showRefusal } from './refused.ts'
import { showRestoreDryRun } from './restore-dry-run.ts'
import { probeOf } from './restore-estimate.ts'
import { formatRestore, isPartlyDone, restoreDocument } from './restore-report.ts'
import { planStep, runPrepare, runShard } from './restore-shards.ts'
import { watchJob } from './watch.ts'

const PARTLY_DONE = 4

export async function run(session: Session): Promise<number> {
  const { actions, options, signal } = session
  const wanted = planStep(options)
  const job = withChoice(await session.loadRestoreJob(options.config ?? ''), options)
  if (options.dryRun) return showRestoreDryRun(session, job)
  if (wanted.step === 'prepare') return showRefused(session, runPrepare(session, job, wanted.count))
  if (wanted.step === 'shard') return showRefused(session, runShard(session, job, wanted))
  const act = (hooks: Hooks) =>
    wanted.step === 'finish'
      ? actions.finishRestoreJob(job, hooks, signal)
      : actions.runRestoreJob(job, letHeapGrowForFew(hooks), signal, probeOf(session))
  const shown = { label: 'restore', preparing: 'checking the backup and the target' }
  const report = await showRefused(session, watchJob(session, shown, act))
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

function showRefused<T>(session: Session, work: Promise<T>): Promise<T> {
  return work.catch(error => {
    throw error instanceof RestoreRefusal ? showRefusal(session, error) : error
  })
}
