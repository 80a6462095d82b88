import type { RunPurpose } from '../crd/status.ts'
import { sidecarRunning } from '../job/find-pod-trouble.ts'
import type { Runs } from './runs.ts'

/** An image is pulled, or a node added, within this time. */
const STUCK_MS = 10 * 60_000

export interface StuckRun {
  reason: string
  message: string
  /** From then on it is reported. */
  atMs: number
}

/** A run whose pod does not start, or stays after its process: it does not end, and holds up the runs that wait for it. */
export function findStuck({ live }: Runs, purpose: RunPurpose): StuckRun | undefined {
  for (const { run, jobs } of live.filter(one => one.purpose === purpose)) {
    const job = jobs.find(({ end, waiting }) => end === undefined && waiting !== undefined)
    if (!job?.waiting) continue
    const { reason, message, sinceMs = job.createdMs } = job.waiting
    const what = reason === sidecarRunning ? 'does not end' : 'cannot start'
    return { reason, message: `Run ${run} ${what}. ${message}`, atMs: sinceMs + STUCK_MS }
  }
  return undefined
}
