import type { Job } from '../../config/load-job.ts'
import type { Session } from '../session.ts'

/**
 * Puts the report into the storage where `--report` asks for it. The work is done by then: a store that takes no more
 * objects, as that of a restore may well be, is worth a warning and no failure.
 */
export async function keepReport(session: Session, job: Job, document: unknown): Promise<void> {
  const { actions, options, outcome, log, signal } = session
  if (!options.report) return
  try {
    const report = { startedMs: outcome.startedMs, text: session.formatKept(document) }
    outcome.note({ report: await actions.writeReport(job, report, signal) })
  } catch (error) {
    outcome.warn()
    log.write('warn', `the report is not kept in the storage: ${error instanceof Error ? error.message : error}`)
  }
}
