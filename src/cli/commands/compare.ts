import { compareFacts } from '../result/data-facts.ts'
import type { Session } from '../session.ts'
import { comparisonDocument, DIFFERENCES_FOUND, formatComparison } from './comparison.ts'
import { withChoice } from './generation-choice.ts'
import { restoreJobOf } from './restore-job-of.ts'

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
