import type { ActiveRun, EndedRun, RunPurpose } from '../crd/status.ts'
import type { JobEnd, JobState, JobTotals } from '../job/job-state.ts'
import { jobName } from '../job/names.ts'
import { type Facts, historyOf } from './facts.ts'
import { generationKey, isGenerationKey } from './run-key.ts'
import { hashSpec } from './spec-hash.ts'
import { takesSnapshot, withTakenSnapshot } from './taken-snapshot.ts'
import { formatTime, parseTime } from './times.ts'

/** A run under way. */
export interface LiveRun extends ActiveRun {
  /** Observed Jobs; none yet for a run that just started. */
  jobs: JobState[]
  /** The next Job to create: the one that commits the shards, or the same again. */
  todo: 'commit' | 'again' | undefined
  /** Until when an unseen Job may still appear. */
  unseenUntilMs: number | undefined
}

export interface Runs {
  live: LiveRun[]
  /** The runs that ended since the last status, then its history: what a clock that was ahead has ended must not stay the newest. */
  ended: EndedRun[]
  /** Jobs of ended runs that still have active pods: those that have not ended are removed, and nothing starts until the pods are gone. */
  lingering: JobState[]
}

/** The cache of Jobs does not lag for longer. */
const UNSEEN_MS = 60_000

/** The state of every run that the status or a Job mentions. Runs in the history do not change. */
export function settleRuns(facts: Facts): Runs {
  const history = historyOf(facts.before)
  const isOver = new Set(history.map(({ run }) => run))
  const open = openRuns(facts, isOver)
  const settled = open.map(live => {
    const run = settleRun(facts, live)
    return 'phase' in run ? withTakenSnapshot(facts, live, run) : run
  })
  const ended = settled.filter(run => 'phase' in run)
  for (const { run } of ended) isOver.add(run)
  return {
    live: settled.filter(run => 'jobs' in run),
    ended: [...newestFirst(ended), ...history],
    lingering: facts.jobs.filter(job => isOver.has(job.run) && isAtWork(job)),
  }
}

export function isKnown({ live, ended }: Runs, run: string): boolean {
  return live.some(one => one.run === run) || ended.some(one => one.run === run)
}

/** Ends runs early. Runs whose Jobs may still appear continue until they do. */
export function stopRuns(runs: Runs, stopped: readonly LiveRun[], end: (run: LiveRun) => EndedRun): Runs {
  const seen = stopped.filter(run => run.unseenUntilMs === undefined)
  return {
    live: runs.live.filter(run => !seen.includes(run)),
    ended: [...newestFirst(seen.map(end)), ...runs.ended],
    lingering: [...runs.lingering, ...seen.flatMap(run => run.jobs.filter(isAtWork))],
  }
}

function isAtWork({ end, hasPods }: JobState): boolean {
  return end === undefined || end.isStillTrying || hasPods === true
}

function openRuns(facts: Facts, isOver: ReadonlySet<string>): LiveRun[] {
  const { before, jobs, resource, nowMs } = facts
  const runs = new Map<string, LiveRun>()
  for (const one of before.active ?? []) {
    const { run, purpose, job, startTime, backupId } = one
    if (isOver.has(run)) continue
    const known = { run, purpose, job, startTime: formatTime(parseTime(startTime) ?? nowMs) }
    runs.set(run, { ...known, ...(backupId !== undefined && { backupId }), ...specOf(one), ...unseen })
  }
  for (const job of jobs.toSorted((one, other) => one.createdMs - other.createdMs)) {
    if (isOver.has(job.run)) continue
    const { run, purpose, name } = job
    const known = runs.get(run) ?? { run, purpose, job: name, startTime: formatTime(job.createdMs), ...unseen }
    const ofJob = { ...(job.backupId !== '' && { backupId: job.backupId }), ...(isFirst(known, job) && specOf(job)) }
    // Its snapshot is named after this time, also when the Job is gone.
    const time = takesSnapshot(facts) && purpose === 'main' ? { startTime: formatTime(job.dueMs) } : {}
    runs.set(run, { ...known, ...ofJob, ...time, jobs: [...known.jobs, job] })
  }
  return [...runs.values()].map(run => ({ ...run, job: workingJob(run, jobName(resource, run.run, 'commit')) }))
}

/** Its spec is that of the run, whatever the status says: another leader may have made it before the spec changed. */
function isFirst({ jobs }: LiveRun, { stage }: JobState): boolean {
  return jobs.length === 0 && stage !== 'commit'
}

const unseen = { jobs: [], todo: undefined, unseenUntilMs: undefined } satisfies Partial<LiveRun>

function workingJob({ job, jobs }: LiveRun, commitName: string): string {
  const commit = jobs.find(({ stage }) => stage === 'commit')
  if (commit) return commit.name
  return job === commitName ? job : (jobs[0]?.name ?? job)
}

function settleRun(facts: Facts, run: LiveRun): LiveRun | EndedRun {
  if (run.jobs.length === 0) return settleUnseen(facts, run)
  const judged = judgeJobs(facts, run)
  if (judged === 'commit') return awaitCommit(facts, run)
  if (judged !== 'at-work') return judged
  if (facts.isContinuous || !run.jobs.every(job => job.isBeingDeleted)) return run
  return endRun(run, facts.nowMs, gone(run))
}

/** The status says that the Job was created: it will be seen soon, or it was removed. */
function settleUnseen(facts: Facts, run: LiveRun): LiveRun | EndedRun {
  const { nowMs } = facts
  const startedMs = parseTime(run.startTime) ?? nowMs
  if (Math.abs(nowMs - startedMs) < UNSEEN_MS) return { ...run, unseenUntilMs: startedMs + UNSEEN_MS }
  return isContinued(facts, run) ? { ...run, todo: 'again' } : endRun(run, nowMs, gone(run))
}

/** Whether it is a continuous run: by its key or, if a trigger has started it, by its spec. */
function isContinued({ isContinuous, resource }: Facts, { run, purpose, specHash }: LiveRun): boolean {
  if (!isContinuous || purpose !== 'main') return false
  return isGenerationKey(run) || specHash === undefined || specHash === hashSpec(resource.spec ?? {})
}

function awaitCommit({ resource, nowMs }: Facts, run: LiveRun): LiveRun {
  const copiedMs = Math.max(...run.jobs.map(({ end }) => end?.completedMs ?? nowMs))
  const isMade = run.job === jobName(resource, run.run, 'commit')
  if (isMade && Math.abs(nowMs - copiedMs) < UNSEEN_MS) return { ...run, unseenUntilMs: copiedMs + UNSEEN_MS }
  return { ...run, todo: 'commit' }
}

/** The trigger annotation starts a backup, and no drill or verification. */
function gone({ job, purpose }: LiveRun): RunEnd {
  const isScheduled = purpose === 'drill' || purpose === 'verify'
  const again = isScheduled ? 'The next one starts at its time.' : 'Set the trigger annotation to run it again.'
  return {
    phase: 'Failed',
    reason: 'JobRemoved',
    message: `The Job ${job} was removed before it was seen to end, so what became of it is unknown. ${again}`,
  }
}

function newestFirst(runs: readonly EndedRun[]): EndedRun[] {
  const timed = runs.map(run => ({
    run,
    endMs: parseTime(run.completionTime) ?? 0,
    startMs: parseTime(run.startTime) ?? 0,
  }))
  timed.sort(
    (one, other) => other.endMs - one.endMs || other.startMs - one.startMs || (one.run.run < other.run.run ? 1 : -1),
  )
  return timed.map(({ run }) => run)
}

const MAX_MESSAGE_CHARS = 1024

/** How a run ended by its Jobs; `commit` where the shards have copied all, and the Job that commits it is not there. */
function judgeJobs(facts: Facts, run: LiveRun): EndedRun | 'commit' | 'at-work' {
  const failed = run.jobs.find(({ end }) => end !== undefined && !end.isSuccess)
  const last = failed ?? run.jobs.find(({ stage, end }) => end !== undefined && stage !== 'shards')
  if (last?.end) return endOf(facts, run, last, last.end)
  const isCopied = run.jobs.some(({ stage, end }) => stage === 'shards' && end !== undefined)
  return isCopied && !run.jobs.some(({ stage }) => stage === 'commit') ? 'commit' : 'at-work'
}

interface RunEnd {
  phase: EndedRun['phase']
  reason?: string | undefined
  message?: string | undefined
  totals?: JobTotals | undefined
}

/** The spec that the run started with; absent for a run that an older version started. */
export function specOf({
  generation,
  specHash,
}: Pick<ActiveRun, 'generation' | 'specHash'>): Pick<ActiveRun, 'generation' | 'specHash'> {
  return { ...(generation !== undefined && { generation }), ...(specHash !== undefined && { specHash }) }
}

export function endRun(live: LiveRun, atMs: number, end: RunEnd): EndedRun {
  const { run, purpose, job, startTime, backupId } = live
  const { phase, reason, message, totals = {} } = end
  return {
    run,
    purpose,
    job,
    startTime,
    ...(backupId !== undefined && { backupId }),
    ...specOf(live),
    phase,
    completionTime: formatTime(atMs),
    ...(reason !== undefined && reason !== '' && { reason }),
    ...(message !== undefined && message !== '' && { message: cut(message) }),
    ...wholeTotals(totals),
  }
}

function endOf(
  facts: Facts,
  run: LiveRun,
  job: JobState,
  { isSuccess, completedMs, reason, message }: JobEnd,
): EndedRun {
  const phase = isSuccess ? 'Completed' : 'Failed'
  const totals = { ...totalsOf(run.jobs), ...(isDryRun(facts, run) && { dryRun: true }) }
  const done = isSuccess && totals.dryRun ? 'It was a dry run: nothing was changed.' : undefined
  const why = { reason: reason ?? (isSuccess ? undefined : 'Failed'), message: message ?? done }
  return endRun({ ...run, job: job.name }, completedMs, { phase, ...why, totals })
}

/** Also where its pod is gone before it was seen to report it. */
function isDryRun({ resource: { spec = {} } }: Facts, { purpose, specHash }: LiveRun): boolean {
  return purpose === 'main' && spec.dryRun === true && specHash === hashSpec(spec)
}

/** The totals of the commit include those of the shards, or are smaller. */
function totalsOf(jobs: readonly JobState[]): JobTotals {
  const reported = jobs.map(({ end }) => end?.totals ?? {})
  const totals: JobTotals = Object.assign({}, ...reported)
  for (const name of ['records', 'bytes', 'groups', 'gaps'] as const) {
    const counts = reported.map(one => one[name]).filter(count => count !== undefined)
    if (counts.length > 0) totals[name] = Math.max(...counts)
  }
  return totals
}

/** Counts in the status are integers. */
function wholeTotals(totals: JobTotals): JobTotals {
  const entries = Object.entries(totals).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    entries.map(([name, value]) => {
      if (typeof value !== 'number' || name === 'recoverySeconds') return [name, value]
      return [name, Math.max(0, Math.floor(value) || 0)]
    }),
  )
}

function cut(text: string): string {
  return text.length > MAX_MESSAGE_CHARS ? `${text.slice(0, MAX_MESSAGE_CHARS - 1)}…` : text
}

const MAX_RUNS = 10

/**
 * The ended runs to keep: the newest, and those that the plan depends on. Without its entry, a run whose Job still exists would
 * look like a new one.
 */
export function planHistory({ jobs, generation }: Facts, { ended }: Runs): EndedRun[] {
  const ofGeneration = generationKey(generation)
  const withJobs = new Set(jobs.map(({ run }) => run))
  const marks = [
    ...(['main', 'verify', 'drill', 'delete'] as const).map(purpose => lastOf(ended, purpose)),
    lastGood(ended),
  ]
  return ended.filter(
    (run, index) => index < MAX_RUNS || withJobs.has(run.run) || run.run === ofGeneration || marks.includes(run),
  )
}

/** The newest ended run with this purpose. */
export function lastOf(sorted: readonly EndedRun[], purpose: RunPurpose): EndedRun | undefined {
  return sorted.find(run => run.purpose === purpose)
}

/** A dry run does not count as a success. */
export function lastGood(sorted: readonly EndedRun[]): EndedRun | undefined {
  return sorted.find(({ purpose, phase, reason, dryRun }) => {
    return purpose === 'main' && phase === 'Completed' && reason !== 'Stopped' && !dryRun
  })
}
