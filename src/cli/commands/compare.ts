import { usageError } from '../../errors.ts'
import type { LocatedRestoreJob } from '../../jobs/schema-target.ts'
import { compareFacts } from '../result/data-facts.ts'
import type { Session } from '../session.ts'
import { comparisonDocument, DIFFERENCES_FOUND, formatComparison } from './comparison.ts'
import { withChoice } from './generation-choice.ts'

export async function run(session: Session): Promise<number> {
  const job = withChoice(await restoreJobOf(session), session.options)
  const report = await session.withProgress('compare', 'reading the target', onProgress =>
    session.actions.compareJob(job, { onProgress }, session.signal),
  )
  session.outcome.note(compareFacts(report))
  session.print(
    () => formatComparison(report, session.style),
    () => comparisonDocument(report),
  )
  return report.ok ? 0 : DIFFERENCES_FOUND
}

/** The job of `--config`, or a job from `--path`, `--backup-id` and `--target`. */
async function restoreJobOf(session: Session): Promise<LocatedRestoreJob> {
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
