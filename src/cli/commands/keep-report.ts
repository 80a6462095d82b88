import type { Job } from '../../config/load-job.ts'
import type { Session } from '../session.ts'

/**
 * Stores the report if `--report` was passed. The work is done at this point, so a read-only storage, as it may be
 * for a restore, causes a warning and not a failure.
 */
export async function keepReport(session: Session, job: Job, document: unknown): Promise<void> {
  const { actions, options, outcome, signal } = session
  if (!options.report) return
  try {
    const report = { startedMs: outcome.startedMs, text: session.formatKept(document) }
    outcome.note({ report: await actions.writeReport(job, report, signal) })
  } catch (error) {
    session.warn([`the report could not be stored: ${error instanceof Error ? error.message : error}`])
  }
}
