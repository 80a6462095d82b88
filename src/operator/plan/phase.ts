import type { EndedRun, Phase } from '../crd/status.ts'
import { type Decision, workingRuns } from './decision.ts'
import type { Facts } from './facts.ts'
import { lostPodOf } from './facts.ts'
import { type LiveRun, lastOf } from './runs.ts'
import { formatTime } from './times.ts'

export interface ShownPhase {
  phase: Phase
  reason?: string | undefined
  message?: string | undefined
  /** The run that has the phase. */
  live?: LiveRun | undefined
  ended?: EndedRun | undefined
}

/** The phase of the active run, of a waiting run, of the last run, or why there was none yet. */
export function planPhase(facts: Facts, decision: Decision): ShownPhase {
  const { deletion, wait, runs } = decision
  if (deletion) return { phase: deletion.phase, reason: deletion.reason, message: deletion.message }
  const live = workingRuns(decision).find(({ purpose }) => purpose === 'main')
  if (live) return { ...livePhase(facts, live, decision), live }
  if (wait) return { phase: wait.phase, reason: wait.reason, message: wait.message }
  const ended = facts.isContinuous && facts.isSuspended ? undefined : lastOf(runs.ended, 'main')
  if (ended) return { ...endedPhase(facts, ended), ended }
  return { phase: 'Pending', ...idle(facts, decision) }
}

/** A run stays `Running` while a failed pod is replaced. */
function livePhase({ before, isContinuous, nowMs }: Facts, live: LiveRun, { wait }: Decision): ShownPhase {
  const hasWorked = before.phase === 'Running' && (before.active?.some(({ run }) => run === live.run) ?? false)
  const isWorking = live.jobs.some(({ running, end, hasBegun }) => running.length > 0 || hasBegun || end !== undefined)
  // The Job of a continuous run is gone, and something blocks the next one.
  const isBlocked = live.todo === 'again' && wait !== undefined
  const phase = (hasWorked || isWorking) && !isBlocked ? 'Running' : 'Pending'
  // A continuous run survives failures: once a pod runs again they are over.
  const isOver = isContinuous && live.jobs.some(({ running }) => running.length > 0)
  const failures = isOver ? 0 : Math.max(0, ...live.jobs.map(({ failedPods }) => failedPods?.count ?? 0))
  const lost = lostPodOf(live.jobs, nowMs)
  if (lost) return { phase, ...lost }
  const deleted = live.jobs.find(job => job.isBeingDeleted && job.end === undefined)
  if (deleted) return { phase, reason: 'Stopping', message: deletedMessage(deleted.name) }
  const waiting = live.jobs.find(job => job.waiting !== undefined && job.end === undefined)?.waiting
  if (failures > 0) return { phase, reason: 'Retrying', message: retryMessage(live, failures, waiting?.message) }
  if (live.todo !== undefined && wait) return { phase, reason: wait.reason, message: wait.message }
  if (waiting) return { phase, reason: waiting.reason, message: waiting.message }
  if (phase === 'Running') return { phase, reason: 'Running', message: `Job ${live.job} is running.` }
  return { phase, reason: 'Starting', message: `Job ${live.job} was created, but none of its pods runs yet.` }
}

/** Of a continuous run, or of the commit of shards: every other run ends with its Job. */
function deletedMessage(job: string): string {
  return `Job ${job} was deleted, and its pods have not ended yet. Another Job starts when they have.`
}

function retryMessage({ jobs }: LiveRun, failures: number, waiting: string | undefined): string {
  const cause = jobs.find(({ failedPods }) => failedPods?.count === failures)?.failedPods?.message
  const parts = [`${failures} failed and the run is retried${cause === undefined ? '.' : `: ${cause}`}`, waiting]
  return parts.filter(part => part !== undefined && part !== '').join(' ')
}

function endedPhase({ controller, isContinuous }: Facts, { phase, reason, message }: EndedRun): ShownPhase {
  if (phase === 'Failed' && isContinuous) return { phase, reason: reason ?? 'Failed', message: stalledMessage(message) }
  if (phase === 'Failed') return { phase, reason: reason ?? 'Failed', message: message ?? 'The last run failed.' }
  return { phase, reason: reason ?? 'Completed', message: message ?? doneMessages[controller] }
}

const doneMessages = {
  backup: 'The backup is complete.',
  restore: 'The restore is complete.',
  offset_reset: 'The offsets are reset.',
  offset_rollback: 'The operation is complete.',
} as const

function idle({ isSuspended, isScheduled }: Facts, { main }: Decision): { reason: string; message: string } {
  if (isSuspended)
    return { reason: 'Suspended', message: 'The resource is suspended. Set spec.suspend to false to let it run.' }
  const next = main?.nextScheduleMs
  if (!isScheduled || next === undefined) return { reason: 'Waiting', message: 'The resource has not run yet.' }
  return { reason: 'Scheduled', message: `The first run is due at ${formatTime(next)}.` }
}

/** Why a run ended for good, with what to do. */
export function stalledMessage(message = 'The run failed.'): string {
  return `${message} It is not restarted automatically: correct the cause, then set the trigger annotation or change the spec.`
}
