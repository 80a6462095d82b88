import type { RunPurpose } from '../crd/status.ts'
import { type Attempt, type EndedAttempt, isEnded, newestEnded, readAttempts, sumTotals, timeOf } from './attempt.ts'
import { disruptionOf, type Explanation, explainFailure, isPermanentFailure, sentences } from './explain-failure.ts'
import {
  findLost,
  findPendingShard,
  findReady,
  findUnprepared,
  findWaiting,
  hasBegun,
  hasFinished,
} from './find-pod-trouble.ts'
import type { JobEnd, JobState } from './job-state.ts'
import type { Job, Pod } from './kube-job.ts'
import { cutText } from './pod-result.ts'
import { isStalling } from './restart-policy.ts'

/** Pure. A Job that the operator made, with those of its pods that are still there. */
export function readJobState(job: Job, pods: readonly Pod[], nowMs: number): JobState {
  const { name, uid = '', creationTimestamp, deletionTimestamp } = job.metadata
  const attempts = readAttempts(job, pods)
  const end = readEnd(job, attempts, nowMs)
  const createdMs = timeOf(creationTimestamp) ?? nowMs
  const isFinished = isTrue(job, 'Complete') !== undefined || isTrue(job, 'Failed') !== undefined
  const isOver = end !== undefined || isFinished
  const hasPods = isFinished && end !== undefined && !attempts.every(isEnded)
  return {
    name,
    uid,
    ...readIdentity(job, createdMs),
    createdMs,
    ...(isContinuous(job) && { isContinuous: true }),
    ...(limitsOf(job).backoffLimit === 0 && { isWithoutRetries: true }),
    isBeingDeleted: deletionTimestamp !== undefined,
    ...(hasPods && { hasPods }),
    ...(end === undefined && (isFinished || isEnding(job)) && { isEnding: true }),
    end,
    ...(isOver ? {} : findFailed(job, attempts)),
    waiting: isOver ? undefined : findTrouble(job, attempts, nowMs),
    running: isOver ? [] : findRunning(attempts),
    ...(!isOver && attempts.some(({ ended, pod }) => !ended && hasBegun(pod)) && { hasBegun: true }),
    ...(isOver ? {} : findReady(attempts)),
    ...(isFinished && !hasPods ? {} : findLost(attempts)),
  }
}

/** What `jobAnnotations` and `jobLabels` have written; the group is that of the resource that owns the Job. */
function readIdentity(
  { metadata }: Job,
  createdMs: number,
): Pick<JobState, 'run' | 'purpose' | 'stage' | 'shards' | 'backupId' | 'dueMs' | 'generation' | 'specHash'> {
  const group = groupOf(metadata)
  const { annotations = {}, labels = {} } = metadata
  const stage = annotations[`${group}/stage`]
  const generation = Number(annotations[`${group}/generation`])
  const specHash = annotations[`${group}/spec-hash`]
  return {
    run: annotations[`${group}/run`] ?? '',
    purpose: purposes.find(one => one === labels[`${group}/purpose`]) ?? 'main',
    stage: stage === 'shards' || stage === 'commit' ? stage : 'whole',
    shards: Number(annotations[`${group}/shards`] ?? 1) || 1,
    backupId: annotations[`${group}/backup-id`] ?? '',
    dueMs: timeOf(annotations[`${group}/due`]) ?? createdMs,
    ...(Number.isSafeInteger(generation) && { generation }),
    ...(specHash !== undefined && { specHash }),
  }
}

function groupOf({ ownerReferences }: Job['metadata']): string {
  const owner = ownerReferences?.find(({ controller }) => controller)
  return (owner?.apiVersion ?? '').split('/')[0] ?? ''
}

function isContinuous({ metadata }: Job): boolean {
  return metadata.annotations?.[`${groupOf(metadata)}/continuous`] === 'true'
}

const purposes: readonly RunPurpose[] = ['main', 'verify', 'drill', 'delete']

function readEnd(job: Job, attempts: readonly Attempt[], nowMs: number): JobEnd | undefined {
  const complete = isTrue(job, 'Complete')
  const results = { totals: sumTotals(attempts), ...(isUnreported(job, attempts) && { isUnreported: true as const }) }
  if (complete) {
    const completedMs = timeOf(job.status?.completionTime) ?? timeOf(complete.lastTransitionTime) ?? 0
    if (isSuccessUnseen(job, attempts, nowMs - completedMs)) return undefined
    const hidden = explainFailure(findGapFailure(attempts))
    return { isSuccess: !hidden, isStillTrying: false, completedMs, ...hidden, ...results }
  }
  const newest = newestEnded(attempts)
  const failed = isTrue(job, 'Failed')
  if (failed) {
    const completedMs = timeOf(failed.lastTransitionTime) ?? 0
    if (isPodUnseen(job, attempts, nowMs - completedMs)) return undefined
    const explanation = explainEnd(job, failed, attempts, explainFailure(newest))
    return { isSuccess: false, isStillTrying: false, completedMs, ...explanation, ...results }
  }
  // Its pods are being stopped and commit; the result follows when they are gone.
  if (isEnding(job)) return undefined
  return readPermanentFailure(job, newest, results)
}

/** The condition, if it is true. */
function isTrue({ status }: Job, name: string): Condition | undefined {
  return status?.conditions?.find(condition => condition.type === name && condition.status === 'True')
}

function isEnding(job: Job): boolean {
  return isTrue(job, 'FailureTarget') !== undefined || isTrue(job, 'SuccessCriteriaMet') !== undefined
}

/**
 * Jobs and pods are watched apart, so that the end of a Job may be seen before that of its pods, which have the result.
 * It is waited for, but not long: pods may have been removed.
 */
function isPodUnseen({ status = {} }: Job, attempts: readonly Attempt[], sinceMs: number): boolean {
  const { succeeded = 0, failed = 0 } = status
  const ended = attempts.filter(isEnded).length
  return Math.abs(sinceMs) < MAX_LAG_MS && (ended < attempts.length || ended < succeeded + failed)
}

/**
 * A pod is replaced only after it has ended, so the end of its successor is seen later than its own. A failed pod that is
 * missing then was removed, as by a drain, and is not waited for.
 */
function isSuccessUnseen({ status = {} }: Job, attempts: readonly Attempt[], sinceMs: number): boolean {
  const succeeded = attempts.filter(({ ended }) => ended?.isSuccess).length
  const isUnseen = attempts.some(({ ended }) => !ended) || succeeded < (status.succeeded ?? 0)
  return Math.abs(sinceMs) < MAX_LAG_MS && isUnseen
}

const MAX_LAG_MS = 30_000

/** Whether a pod may have changed something and reported nothing. One that succeeds reports what those before it have done. */
function isUnreported(job: Job, attempts: readonly Attempt[]): boolean {
  const { succeeded = 0, failed = 0 } = job.status ?? {}
  if (isTrue(job, 'Complete')) return !attempts.some(({ ended }) => ended?.isSuccess && ended.result !== undefined)
  const reported = attempts.filter(({ ended }) => ended?.result !== undefined).length
  return reported < Math.max(attempts.length, succeeded + failed)
}

/**
 * A backup that fails because of gaps fails once: the retry finds them recorded. Whether the run has
 * failed must not depend on whether the operator observed the first pod.
 */
function findGapFailure(attempts: readonly Attempt[]): EndedAttempt[] {
  return attempts.filter(isEnded).filter(({ ended }) => isPermanentFailure(ended) && (ended.result?.gaps ?? 0) > 0)
}

/** Exit codes that fail the Job are left to the Job controller. */
function readPermanentFailure(
  job: Job,
  newest: readonly EndedAttempt[],
  results: Pick<JobEnd, 'totals' | 'isUnreported'>,
): JobEnd | undefined {
  const isFinal = isContinuous(job) ? isStalling : isPermanentFailure
  const hopeless = newest.filter(({ ended }) => isFinal(ended) && !isFinalExit(job, ended))
  const explanation = explainFailure(hopeless)
  if (!explanation) return undefined
  const completedMs = Math.max(...hopeless.map(({ ended }) => ended.finishedMs))
  return { isSuccess: false, isStillTrying: true, completedMs, ...explanation, ...results }
}

type Condition = NonNullable<NonNullable<Job['status']>['conditions']>[number]

/** The pods know more than the Job, except about a deadline. */
function explainEnd(
  job: Job,
  failed: Condition,
  attempts: readonly Attempt[],
  cause: Explanation | undefined,
): Explanation {
  const reason = cutText(failed.reason ?? 'Failed', 64)
  if (reason === 'DeadlineExceeded') {
    const limit = `The run took longer than the ${job.spec.activeDeadlineSeconds} seconds of spec.job.activeDeadlineSeconds`
    const rest = resumes(job) ? continued : 'Raise it, or find out what made its pod wait.'
    return { reason, message: sentences(limit, rest) }
  }
  if (!cause) return { reason, message: cutText(failed.message ?? `Job ${job.metadata.name} has failed`, 500) }
  const failures = attempts.filter(({ ended }) => ended && !ended.isSuccess).length
  const isOutOfRetries = failures > 1 && /^(BackoffLimitExceeded|FailedIndexes|MaxFailedIndexesExceeded)$/.test(reason)
  return isOutOfRetries ? { ...cause, message: sentences(cause.message, `Stopped after ${failures} attempts.`) } : cause
}

const continued = 'Raise it; what is committed stays, and the next run continues from there.'

/** A verification, a drill, a deletion and the validation of a storage begin again. */
function resumes({ metadata }: Job): boolean {
  const { labels = {} } = metadata
  const group = groupOf(metadata)
  return labels[`${group}/purpose`] === 'main' && labels[`${group}/controller`] !== 'storage'
}

/** Failed pods of a Job that continues; the last one gives the cause. Not after the last attempt, although the Job may not report its end yet. */
function findFailed(job: Job, attempts: readonly Attempt[]): Pick<JobState, 'failedPods'> {
  const failed = attempts.filter(isEnded).filter(({ ended }) => !ended.isSuccess)
  if (isEnding(job) || failed.some(attempt => isLastTry(job, attempt, failed))) return {}
  const explanation = explainFailure(failed.slice(-1))
  const count = Math.max(failed.length, job.status?.failed ?? 0)
  return explanation === undefined ? {} : { failedPods: { count, ...explanation } }
}

/** By the exit code, or because no retry is left; matches `buildJob`. */
function isLastTry(job: Job, { index, ended }: EndedAttempt, failed: readonly EndedAttempt[]): boolean {
  const { backoffLimitPerIndex, backoffLimit } = limitsOf(job)
  if (isFinalExit(job, ended)) return true
  const tries = failed.filter(one => backoffLimitPerIndex === undefined || one.index === index)
  return (
    tries.filter(({ pod }) => !disruptionOf(pod)).length >
    (backoffLimitPerIndex ?? backoffLimit ?? Number.POSITIVE_INFINITY)
  )
}

function isFinalExit(job: Job, { exitCode = 0 }: EndedAttempt['ended']): boolean {
  const [rule] = limitsOf(job).podFailurePolicy?.rules ?? []
  return rule?.onExitCodes?.values?.includes(exitCode) ?? false
}

function limitsOf({ spec }: Job): JobLimits {
  return spec as JobLimits
}

interface JobLimits {
  backoffLimit?: number
  backoffLimitPerIndex?: number
  podFailurePolicy?: { rules?: { onExitCodes?: { values?: number[] } }[] }
}

function findTrouble(job: Job, attempts: readonly Attempt[], nowMs: number): JobState['waiting'] {
  const { annotations = {}, labels = {} } = job.metadata
  const group = groupOf(job.metadata)
  const isSharded = annotations[`${group}/stage`] === 'shards'
  const isShared = labels[`${group}/controller`] === 'restore' && isSharded
  return (
    findWaiting(job, attempts, nowMs) ??
    (isShared ? findUnprepared(job, attempts, nowMs) : undefined) ??
    (isSharded ? findPendingShard(attempts, nowMs) : undefined)
  )
}

function findRunning(attempts: readonly Attempt[]): JobState['running'] {
  return attempts.flatMap(({ pod, ended }) => {
    const { podIP } = pod.status ?? {}
    if (podIP === undefined || pod.metadata.deletionTimestamp !== undefined) return []
    if (ended || !hasBegun(pod) || hasFinished(pod)) return []
    return [{ pod: pod.metadata.name, ip: podIP }]
  })
}
