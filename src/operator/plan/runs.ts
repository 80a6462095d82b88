import type { JobState } from '../job/job-state.ts'
import { jobName } from '../job/names.ts'
import type { ActiveRun, EndedRun } from '../resource/status.ts'
import { endRun, judgeJobs, type RunEnd } from './end-run.ts'
import { type Facts, historyOf } from './facts.ts'
import { newestFirst } from './newest-first.ts'
import { formatTime, parseTime } from './times.ts'

/** A run under way. */
export interface LiveRun extends ActiveRun {
  /** Those that are seen: of one that was made just now there may be none yet. */
  jobs: JobState[]
  /** Its next Job is to be made: the one that commits what the shards copied, or the same again. */
  todo: 'commit' | 'again' | undefined
  /** Until when a Job that is not seen may still appear. */
  unseenUntilMs: number | undefined
}

export interface Runs {
  live: LiveRun[]
  /** All that the history has, and those that ended since; the newest first. */
  ended: EndedRun[]
  /** Jobs of runs that have ended, which still have pods at work: they are removed, and nothing starts beside them. */
  lingering: JobState[]
}

/** A view of Jobs is not behind for longer than this. */
const UNSEEN_MS = 60_000

/** What became of every run that the status or a Job tells of. A run that the history has stays as it is there. */
export function settleRuns(facts: Facts): Runs {
  const history = historyOf(facts.before)
  const isOver = new Set(history.map(({ run }) => run))
  const open = openRuns(facts, isOver)
  const settled = open.map(run => settleRun(facts, run))
  const ended = settled.filter(run => 'phase' in run)
  for (const { run } of ended) isOver.add(run)
  return {
    live: settled.filter(run => 'jobs' in run),
    ended: newestFirst([...history, ...ended]),
    lingering: facts.jobs.filter(job => isOver.has(job.run) && isAtWork(job)),
  }
}

export function isKnown({ live, ended }: Runs, run: string): boolean {
  return live.some(one => one.run === run) || ended.some(one => one.run === run)
}

/** Ends runs before they are done. Those whose Jobs may still appear go on until they have. */
export function stopRuns(runs: Runs, stopped: readonly LiveRun[], end: (run: LiveRun) => EndedRun): Runs {
  const seen = stopped.filter(run => run.unseenUntilMs === undefined)
  return {
    live: runs.live.filter(run => !seen.includes(run)),
    ended: newestFirst([...runs.ended, ...seen.map(end)]),
    lingering: [...runs.lingering, ...seen.flatMap(run => run.jobs.filter(isAtWork))],
  }
}

function isAtWork({ end }: JobState): boolean {
  return end === undefined || end.isStillTrying
}

function openRuns({ before, jobs, resource, nowMs }: Facts, isOver: ReadonlySet<string>): LiveRun[] {
  const runs = new Map<string, LiveRun>()
  for (const { run, purpose, job, startTime, backupId } of before.active ?? []) {
    if (isOver.has(run)) continue
    const known = { run, purpose, job, startTime: formatTime(parseTime(startTime) ?? nowMs) }
    runs.set(run, { ...known, ...(backupId !== undefined && { backupId }), ...unseen })
  }
  for (const job of jobs.toSorted((one, other) => one.createdMs - other.createdMs)) {
    if (isOver.has(job.run)) continue
    const { run, purpose, name } = job
    const known = runs.get(run) ?? { run, purpose, job: name, startTime: formatTime(job.createdMs), ...unseen }
    runs.set(run, { ...known, ...(job.backupId !== '' && { backupId: job.backupId }), jobs: [...known.jobs, job] })
  }
  return [...runs.values()].map(run => ({ ...run, job: workingJob(run, jobName(resource, run.run, 'commit')) }))
}

const unseen = { jobs: [], todo: undefined, unseenUntilMs: undefined } satisfies Partial<LiveRun>

function workingJob({ job, jobs }: LiveRun, commitName: string): string {
  const commit = jobs.find(({ stage }) => stage === 'commit')
  if (commit) return commit.name
  return job === commitName ? job : (jobs[0]?.name ?? job)
}

function settleRun(facts: Facts, run: LiveRun): LiveRun | EndedRun {
  if (run.jobs.length === 0) return settleUnseen(facts, run)
  const judged = judgeJobs(run)
  if (judged === 'commit') return awaitCommit(facts, run)
  if (judged !== 'at-work') return judged
  if (facts.isContinuous || !run.jobs.every(job => job.isBeingDeleted)) return run
  return endRun(run, facts.nowMs, gone(run.job))
}

/** The status says that the Job was made: it is seen soon, or somebody removed it. */
function settleUnseen({ isContinuous, nowMs }: Facts, run: LiveRun): LiveRun | EndedRun {
  const startedMs = parseTime(run.startTime) ?? nowMs
  if (Math.abs(nowMs - startedMs) < UNSEEN_MS) return { ...run, unseenUntilMs: startedMs + UNSEEN_MS }
  return isContinuous && run.purpose === 'main' ? { ...run, todo: 'again' } : endRun(run, nowMs, gone(run.job))
}

function awaitCommit({ resource, nowMs }: Facts, run: LiveRun): LiveRun {
  const copiedMs = Math.max(...run.jobs.map(({ end }) => end?.completedMs ?? nowMs))
  const isMade = run.job === jobName(resource, run.run, 'commit')
  if (isMade && nowMs - copiedMs < UNSEEN_MS) return { ...run, unseenUntilMs: copiedMs + UNSEEN_MS }
  return { ...run, todo: 'commit' }
}

function gone(job: string): RunEnd {
  return {
    phase: 'Failed',
    reason: 'JobRemoved',
    message: `The Job ${job} was removed before it was seen to end, so what became of it is unknown. Set the trigger annotation to run it again.`,
  }
}
