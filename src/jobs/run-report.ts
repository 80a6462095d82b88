import { reportKey, stampOf } from '../archive/layout.ts'
import type { Job } from '../config/load-job.ts'
import { formatUtc } from '../lib/clock.ts'
import { newRun, readOnly, withStorage } from './parts.ts'

export interface RunReport {
  /** When the run began. */
  startedMs: number
  text: string
}

/** Stores the report of a run next to its backup; returns the key of the object. */
export function writeReport(job: Job, report: RunReport, signal: AbortSignal): Promise<string> {
  return withStorage(job, readOnly, async storage => {
    const key = reportKey(job.backupId, stampOf(formatUtc(report.startedMs)), newRun())
    await storage.create(key, Buffer.from(report.text), signal)
    return key
  })
}
