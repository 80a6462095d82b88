import { type Attempt, containerOf, timeOf } from './attempt.ts'
import type { Explanation } from './explain-failure.ts'
import type { Job, Pod } from './kube-job.ts'
import { kubectlIn } from './names.ts'
import { cutText } from './pod-result.ts'

/** So long a pod may take to be made and started before anybody is told. */
const PATIENCE_MS = 60_000
const MAX_FOREIGN_TEXT = 500

/** What a container waits for when all is well. */
const usual = ['ContainerCreating', 'PodInitializing']

/** Pure. Why no pod of a Job works that has not ended; undefined where one does, or is on its way. */
export function findWaiting(job: Job, attempts: readonly Attempt[], nowMs: number): Explanation | undefined {
  if (job.status?.conditions?.some(({ type, status }) => type === 'Suspended' && status === 'True')) {
    return {
      reason: 'JobSuspended',
      message: `Job ${job.metadata.name} is suspended: its spec.suspend is true.`,
    }
  }
  const active = attempts.filter(({ ended }) => !ended)
  if (active.some(({ pod }) => pod.status?.phase === 'Running')) return undefined
  if (active.length > 0) return active.map(({ pod }) => whyPodWaits(pod, nowMs)).find(why => why !== undefined)
  return attempts.length === 0 ? whyThereIsNone(job, nowMs) : undefined
}

function whyPodWaits(pod: Pod, nowMs: number): Explanation | undefined {
  const { name, creationTimestamp } = pod.metadata
  const waiting = containerOf(pod)?.state?.waiting
  if (waiting?.reason && !usual.includes(waiting.reason)) {
    const reason = cutText(waiting.reason, 64)
    return { reason, message: cutText(`Pod ${name}: ${waiting.message ?? reason}`, MAX_FOREIGN_TEXT) }
  }
  const unscheduled = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False')
  if (unscheduled) {
    const message = cutText(`Pod ${name} has no node: ${unscheduled.message ?? ''}`, MAX_FOREIGN_TEXT)
    return { reason: unscheduled.reason ?? 'Unschedulable', message }
  }
  if (isPatient(creationTimestamp, nowMs)) return undefined
  const message = `Pod ${name} does not start: a secret, a key of one, or a volume that it mounts may be missing. \`${kubectlIn(pod.metadata)} describe pod ${name}\` shows which.`
  return { reason: 'ContainerCreating', message }
}

function whyThereIsNone({ metadata, status }: Job, nowMs: number): Explanation | undefined {
  const isOver = status?.conditions?.some(condition => condition.status === 'True')
  if (isOver || isPatient(metadata.creationTimestamp, nowMs)) return undefined
  const { name } = metadata
  const message = `Job ${name} has no pod: a quota, an admission rule or a missing service account may refuse it. \`${kubectlIn(metadata)} describe job ${name}\` shows which.`
  return { reason: 'NoPod', message }
}

function isPatient(since: string | undefined, nowMs: number): boolean {
  return nowMs - (timeOf(since) ?? nowMs) < PATIENCE_MS
}
