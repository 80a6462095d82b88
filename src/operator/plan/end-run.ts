import type { JobEnd, JobState, JobTotals } from '../job/job-state.ts'
import type { EndedRun } from '../resource/status.ts'
import type { LiveRun } from './runs.ts'
import { formatTime } from './times.ts'

const MAX_MESSAGE_CHARS = 1024

/** How a run ended by its Jobs; `commit` where the shards have copied all, and the Job that commits it is not there. */
export function judgeJobs(run: LiveRun): EndedRun | 'commit' | 'at-work' {
  const failed = run.jobs.find(({ end }) => end !== undefined && !end.isSuccess)
  const last = failed ?? run.jobs.find(({ stage, end }) => end !== undefined && stage !== 'shards')
  if (last?.end) return endOf(run, last, last.end)
  const isCopied = run.jobs.some(({ stage, end }) => stage === 'shards' && end !== undefined)
  return isCopied && !run.jobs.some(({ stage }) => stage === 'commit') ? 'commit' : 'at-work'
}

export interface RunEnd {
  phase: EndedRun['phase']
  reason?: string | undefined
  message?: string | undefined
  totals?: JobTotals | undefined
}

export function endRun({ run, purpose, job, startTime, backupId }: LiveRun, atMs: number, end: RunEnd): EndedRun {
  const { phase, reason, message, totals = {} } = end
  return {
    run,
    purpose,
    job,
    startTime,
    ...(backupId !== undefined && { backupId }),
    phase,
    completionTime: formatTime(atMs),
    ...(reason !== undefined && reason !== '' && { reason }),
    ...(message !== undefined && message !== '' && { message: cut(message) }),
    ...wholeTotals(totals),
  }
}

function endOf(run: LiveRun, job: JobState, { isSuccess, completedMs, reason, message }: JobEnd): EndedRun {
  const phase = isSuccess ? 'Completed' : 'Failed'
  const why = { reason: reason ?? (isSuccess ? undefined : 'Failed'), message }
  return endRun({ ...run, job: job.name }, completedMs, { phase, ...why, totals: totalsOf(run.jobs) })
}

/** What the commit tells covers what the shards told before it, or says less of it. */
function totalsOf(jobs: readonly JobState[]): JobTotals {
  const told = jobs.map(({ end }) => end?.totals ?? {})
  const totals: JobTotals = Object.assign({}, ...told)
  for (const name of ['records', 'bytes', 'groups', 'gaps'] as const) {
    const counts = told.map(one => one[name]).filter(count => count !== undefined)
    if (counts.length > 0) totals[name] = Math.max(...counts)
  }
  return totals
}

/** The status takes integers only. */
function wholeTotals(totals: JobTotals): JobTotals {
  const entries = Object.entries(totals).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'number' ? Math.max(0, Math.floor(value) || 0) : value]),
  )
}

function cut(text: string): string {
  return text.length > MAX_MESSAGE_CHARS ? `${text.slice(0, MAX_MESSAGE_CHARS - 1)}…` : text
}
