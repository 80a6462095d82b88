import { containerName } from './build-pod.ts'
import type { JobTotals } from './job-state.ts'
import type { ContainerStatus, Job, Pod } from './kube-job.ts'
import { type PodResult, parsePodResult } from './pod-result.ts'

/** One pod of a Job, whether it runs, waits or has ended. */
export interface Attempt {
  pod: Pod
  /** Of the shard; 0 where there is one. */
  index: number
  startedMs: number
  /** Undefined as long as it has not ended. */
  ended: AttemptEnd | undefined
}

interface AttemptEnd {
  isSuccess: boolean
  finishedMs: number
  /** Undefined where the pod ended without its container having run. */
  exitCode: number | undefined
  result: PodResult | undefined
}

const indexKey = 'batch.kubernetes.io/job-completion-index'

/** The pods of a Job in the order in which they were made. Pods of others are left out. */
export function readAttempts(job: Job, pods: readonly Pod[]): Attempt[] {
  const { uid } = job.metadata
  return pods
    .filter(({ metadata }) => metadata.ownerReferences?.some(owner => owner.uid === uid))
    .map(readAttempt)
    .toSorted((a, b) => a.startedMs - b.startedMs || finishedMs(a) - finishedMs(b))
}

function readAttempt(pod: Pod): Attempt {
  const { labels, annotations, creationTimestamp } = pod.metadata
  const index = Number(annotations?.[indexKey] ?? labels?.[indexKey] ?? 0)
  return {
    pod,
    index: Number.isSafeInteger(index) ? index : 0,
    startedMs: timeOf(creationTimestamp) ?? 0,
    ended: readEnd(pod),
  }
}

function readEnd(pod: Pod): AttemptEnd | undefined {
  const { phase } = pod.status ?? {}
  if (phase !== 'Succeeded' && phase !== 'Failed') return undefined
  const terminated = containerOf(pod)?.state?.terminated
  const isSuccess = phase === 'Succeeded'
  const result = parsePodResult(terminated?.message)
  return {
    isSuccess,
    finishedMs: timeOf(terminated?.finishedAt) ?? timeOf(pod.status?.startTime) ?? 0,
    exitCode: terminated?.exitCode,
    // A result that does not fit to how the process ended is not that of the process.
    result: result?.exit === terminated?.exitCode ? result : undefined,
  }
}

/** A cluster may inject other containers. */
export function containerOf({ status }: Pod): ContainerStatus | undefined {
  return status?.containerStatuses?.find(({ name }) => name === containerName)
}

/** The last ended attempt of each index. */
export function newestEnded(attempts: readonly Attempt[]): EndedAttempt[] {
  return [...new Map(attempts.filter(isEnded).map(attempt => [attempt.index, attempt])).values()]
}

export function isEnded(attempt: Attempt): attempt is EndedAttempt {
  return attempt.ended !== undefined
}

export interface EndedAttempt extends Attempt {
  ended: AttemptEnd
}

function finishedMs({ ended }: Attempt): number {
  return ended?.finishedMs ?? Number.MAX_SAFE_INTEGER
}

export function timeOf(text: string | undefined): number | undefined {
  const ms = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

/**
 * Pure. Sums the results of all pods of a Job. Records of a backup and of a restore add up, because each pod continues where the
 * one before it stopped, and so do groups that a reset or a rollback sets. Otherwise the last pod of a shard counts, except for what only the first pod knows: gaps, which
 * a retry finds already recorded, and the snapshot of the groups before the reset.
 */
export function sumTotals(attempts: readonly Attempt[]): JobTotals {
  const all = attempts.flatMap(({ index, ended }) => (ended?.result ? [{ index, result: ended.result }] : []))
  const last = newestEnded(attempts.filter(({ ended }) => ended?.result)).map(({ ended }) => ended.result)
  const counted = all.map(({ result }) => result).filter(result => isResuming(result) || last.includes(result))
  const done = all.map(({ result }) => result).filter(result => isSetting(result) || last.includes(result))
  const gapsOf = new Map<number, number>()
  for (const { index, result } of all) gapsOf.set(index, Math.max(gapsOf.get(index) ?? 0, result.gaps))
  return {
    ...given('records', sum(counted.map(({ records }) => records))),
    ...given('bytes', sum(counted.map(({ bytes }) => bytes))),
    ...given('storedBytes', last.findLast(one => one?.storedBytes !== undefined)?.storedBytes),
    ...given('mayHoldDeletedKeys', last.findLast(one => one?.mayHoldDeletedKeys !== undefined)?.mayHoldDeletedKeys),
    ...given('estimate', last.findLast(one => one?.estimate !== undefined)?.estimate),
    ...given('recoverySeconds', last.findLast(one => one?.recoverySeconds !== undefined)?.recoverySeconds),
    ...given('groups', sum(done.map(({ groups }) => groups))),
    ...given('gaps', sum([...gapsOf.values()])),
    ...given('snapshotId', snapshotOf(all.map(({ result }) => result))),
    ...given('dryRun', last.some(one => one?.isDryRun) || undefined),
    ...given('report', last.findLast(one => one?.report !== undefined)?.report),
  }
}

/** Its records are those that it copied or wrote itself. */
function isResuming({ command, isDryRun }: PodResult): boolean {
  return (command === 'backup' || command === 'restore') && !isDryRun
}

/** Its groups are those that it set itself. Every other command counts all groups, also those that a pod before it has set or kept. */
function isSetting({ command }: PodResult): boolean {
  return command === 'offsets reset' || command === 'offsets rollback'
}

/** For `offsets snapshot` the last one is complete. */
function snapshotOf(results: readonly PodResult[]): string | undefined {
  const withSnapshot = results.filter(({ snapshotId }) => snapshotId !== undefined)
  const isTaken = withSnapshot.some(({ command }) => command === 'offsets snapshot')
  return withSnapshot.at(isTaken ? -1 : 0)?.snapshotId
}

/** Undefined if no pod reported a number. */
function sum(numbers: readonly (number | undefined)[]): number | undefined {
  const reported = numbers.filter(one => one !== undefined)
  if (reported.length === 0) return undefined
  return Math.min(
    reported.reduce((total, one) => total + one, 0),
    Number.MAX_SAFE_INTEGER,
  )
}

function given<K extends keyof JobTotals>(key: K, value: JobTotals[K] | undefined): Partial<JobTotals> {
  return value === undefined ? {} : { [key]: value }
}
