import { type Attempt, containerOf, timeOf } from './attempt.ts'
import { containerName } from './build-pod.ts'
import { type Explanation, sentences } from './explain-failure.ts'
import type { JobState } from './job-state.ts'
import type { ContainerStatus, Job, Pod } from './kube-job.ts'
import { kubectlIn } from './names.ts'
import { cutText } from './pod-result.ts'

/** How long a pod may take to be created and started before the status reports it. */
const PATIENCE_MS = 60_000
const MAX_FOREIGN_TEXT = 500

/** Normal reasons of a container to wait. */
const usual = ['ContainerCreating', 'PodInitializing']

interface Waiting extends Explanation {
  /** Since when the pod could have started or ended; the Job may be much older. */
  sinceMs: number
}

/** Pure. Why an unfinished Job has no pod that works; undefined if one works or is starting. */
export function findWaiting(job: Job, attempts: readonly Attempt[], nowMs: number): Waiting | undefined {
  const { metadata, status: { conditions = [] } = {} } = job
  const suspended = conditions.find(({ type, status }) => type === 'Suspended' && status === 'True')
  if (suspended) {
    const message = `Job ${metadata.name} is suspended: its spec.suspend is true.`
    const sinceMs = timeOf(suspended.lastTransitionTime ?? metadata.creationTimestamp) ?? nowMs
    return { reason: 'JobSuspended', message, sinceMs }
  }
  const active = attempts.filter(({ ended }) => !ended)
  const running = active.filter(({ pod }) => hasBegun(pod))
  if (running.some(({ pod }) => !hasFinished(pod))) return undefined
  const kept = running.map(({ pod }) => whyPodStays(pod, nowMs)).find(why => why !== undefined)
  if (running.length > 0) return kept
  if (active.length > 0) return active.map(({ pod }) => whyPodWaits(pod, nowMs)).find(why => why !== undefined)
  return attempts.length === 0 ? whyThereIsNone(job, nowMs) : undefined
}

/** Pure. Why the first shard of a restore does not start: all others wait for it, however long, because it creates the topics. */
export function findUnprepared(job: Job, attempts: readonly Attempt[], nowMs: number): Waiting | undefined {
  const first = attempts.filter(({ index }) => index === 0)
  const pending = first.find(({ ended, pod }) => !ended && !hasBegun(pod))
  const isLacking = first.length === 0 && !isFirstDone(job)
  const why = pending ? whyPodWaits(pending.pod, nowMs) : isLacking ? whyThereIsNone(job, nowMs, 0) : undefined
  const rest = first.length > 1 ? ' unless an earlier one created the topics' : ''
  return why && { ...why, message: sentences(why.message, `The other pods of the restore wait for it${rest}.`) }
}

/** Its pod may be gone. */
function isFirstDone({ status }: Job): boolean {
  return /^0(\D|$)/.test(status?.completedIndexes ?? '')
}

/** Pure. Why a shard has not started although others run. A cluster may have room for some of them only, or add a node, so it is reported late. */
export function findPendingShard(attempts: readonly Attempt[], nowMs: number): Waiting | undefined {
  const active = attempts.filter(({ ended }) => !ended)
  if (!active.some(({ pod }) => hasBegun(pod))) return undefined
  for (const { index, pod } of active) {
    const isPending = !hasBegun(pod) && !isPatient(pod.metadata.creationTimestamp, nowMs)
    const why = isPending ? whyPodWaits(pod, nowMs) : undefined
    if (why) return { ...why, message: `Shard ${index} does not run. ${why.message}` }
  }
  return undefined
}

function whyPodWaits(pod: Pod, nowMs: number): Waiting | undefined {
  const { name, creationTimestamp } = pod.metadata
  const sinceMs = timeOf(creationTimestamp) ?? nowMs
  const waiting = containerOf(pod)?.state?.waiting
  if (waiting?.reason && !usual.includes(waiting.reason)) {
    const reason = cutText(waiting.reason, 64)
    return { reason, message: cutText(`Pod ${name}: ${waiting.message ?? reason}`, MAX_FOREIGN_TEXT), sinceMs }
  }
  const unscheduled = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False')
  if (unscheduled) {
    const message = cutText(`Pod ${name} has no node: ${unscheduled.message ?? ''}`, MAX_FOREIGN_TEXT)
    return { reason: unscheduled.reason ?? 'Unschedulable', message, sinceMs }
  }
  if (isPatient(creationTimestamp, nowMs)) return undefined
  const message = `Pod ${name} does not start: a secret, a key of one, or a volume that it mounts may be missing. \`${kubectlIn(pod.metadata)} describe pod ${name}\` shows which.`
  return { reason: 'ContainerCreating', message, sinceMs }
}

/** Pure. Its process runs or has ended. Kubernetes calls the pod Pending as long as another container waits. */
export function hasBegun(pod: Pod): boolean {
  const { waiting, running, terminated } = containerOf(pod)?.state ?? {}
  if (waiting) return false
  return pod.status?.phase === 'Running' || running !== undefined || terminated !== undefined
}

/** Pure. Its process has ended; another container may keep the pod running. */
export function hasFinished(pod: Pod): boolean {
  return containerOf(pod)?.state?.terminated !== undefined
}

export const sidecarRunning = 'SidecarRunning'

/** A Job does not end before all containers of its pod have, and one of a service mesh may never end by itself. */
function whyPodStays(pod: Pod, nowMs: number): Waiting | undefined {
  const { metadata, status } = pod
  const others = (status?.containerStatuses ?? []).filter(one => one.name !== containerName).flatMap(whyContainerStays)
  const ended = containerOf(pod)?.state?.terminated
  if (!ended || others.length === 0 || metadata.deletionTimestamp !== undefined) return undefined
  if (isPatient(ended.finishedAt, nowMs)) return undefined
  const what = `The process in pod ${metadata.name} ended with exit code ${ended.exitCode}, but ${others.join(' and ')}, so the run does not end.`
  const help =
    'Make it a native sidecar (an init container with `restartPolicy: Always`), or keep it out of these pods with spec.podTemplate.metadata.'
  const sinceMs = timeOf(ended.finishedAt) ?? nowMs
  return { reason: sidecarRunning, message: cutText(`${what} ${help}`, MAX_FOREIGN_TEXT), sinceMs }
}

/** One that has not started, such as for its image, keeps the pod as well: the kubelet tries without end. */
function whyContainerStays({ name, state }: ContainerStatus): string[] {
  if (state?.running) return [`container ${name} still runs`]
  return state?.waiting ? [`container ${name} has not started (${cutText(state.waiting.reason ?? 'waiting', 64)})`] : []
}

function whyThereIsNone({ metadata, status }: Job, nowMs: number, shard?: number): Waiting | undefined {
  const isOver = status?.conditions?.some(condition => condition.status === 'True')
  const { name, creationTimestamp } = metadata
  // It starts again when it is resumed.
  const since = status?.startTime ?? creationTimestamp
  if (isOver || isPatient(since, nowMs)) return undefined
  const what = shard === undefined ? 'no pod' : `no pod for shard ${shard}`
  const message = `Job ${name} has ${what}: a quota, an admission rule or a missing service account may refuse it. \`${kubectlIn(metadata)} describe job ${name}\` shows which.`
  return { reason: 'NoPod', message, sinceMs: timeOf(since) ?? nowMs }
}

function isPatient(since: string | undefined, nowMs: number): boolean {
  return nowMs - (timeOf(since) ?? nowMs) < PATIENCE_MS
}

/** How long a node may be silent, or a pod may exceed its grace period, before the pod counts as lost. */
const LOST_MS = 5 * 60_000

/** Pure. The first pod whose node no longer reports; `atMs` is when it counts as lost. */
export function findLost(attempts: readonly Attempt[]): Pick<JobState, 'lost'> {
  const silent = attempts
    .filter(({ ended }) => !ended)
    .flatMap(({ pod }) => {
      const sinceMs = silentSinceMs(pod)
      return sinceMs === undefined ? [] : [{ pod, sinceMs }]
    })
    .toSorted((a, b) => a.sinceMs - b.sinceMs)
  const [first] = silent
  return first ? { lost: { atMs: first.sinceMs + LOST_MS, message: messageOf(first.pod, first.sinceMs) } } : {}
}

/**
 * A kubelet sets `Ready` together with the readiness of all containers, or names what else the pod waits for; only the node
 * controller sets it alone, when the node has stopped reporting. A pod that is deleted outlives its `deletionTimestamp` only where no kubelet ends it.
 */
function silentSinceMs(pod: Pod): number | undefined {
  const { phase, conditions = [], startTime } = pod.status ?? {}
  const { deletionTimestamp, creationTimestamp } = pod.metadata
  const ready = conditions.find(({ type }) => type === 'Ready')
  const changedMs = timeOf(ready?.lastTransitionTime) ?? timeOf(startTime) ?? timeOf(creationTimestamp)
  if (phase === 'Unknown') return changedMs
  if (phase === 'Running' && ready?.status === 'False' && !isNamed(ready.reason) && isReadyItself(pod)) return changedMs
  return timeOf(deletionTimestamp)
}

/** The node controller leaves the reason as it was: a pod that was ready has none. */
function isNamed(reason: string | undefined): boolean {
  return reason !== undefined && reason !== ''
}

/** Includes injected containers, such as the proxy of a service mesh. */
function isReadyItself(pod: Pod): boolean {
  const { containerStatuses = [] } = pod.status ?? {}
  return containerOf(pod) !== undefined && containerStatuses.every(({ ready }) => ready === true)
}

/**
 * With this taint, as with the deletion of the node, Kubernetes ends the pod as failed, and the Job starts another one. A pod that is
 * only deleted by force stays, because a Job replaces pods only after they have failed.
 */
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service=nodeshutdown:NoExecute'

function messageOf({ metadata, spec }: Pod, sinceMs: number): string {
  const { name } = metadata
  const node = typeof spec?.nodeName === 'string' ? spec.nodeName : 'unknown'
  const since = `${new Date(sinceMs).toISOString().slice(0, 19)}Z`
  const safe = 'The pod may still be writing, so it is not replaced.'
  const gone = `If the node is gone for good, delete it: \`kubectl delete node ${node}\`.`
  const down = `If it is switched off and comes back later: \`kubectl taint node ${node} ${OUT_OF_SERVICE}\`.`
  return `Pod ${name} has not been observed since ${since}: node ${node} does not report. ${safe} ${gone} ${down}`
}

/** Pure. Since when a running pod is ready; readiness means nothing without a probe. */
export function findReady(attempts: readonly Attempt[]): Pick<JobState, 'readySinceMs'> {
  const since = attempts.flatMap(({ pod }) => readySince(pod) ?? [])
  return since.length === 0 ? {} : { readySinceMs: Math.min(...since) }
}

function readySince({ metadata, spec, status }: Pod): number | undefined {
  const { containers = [] } = (spec ?? {}) as { containers?: { name: string; readinessProbe?: unknown }[] }
  const isProbed = containers.some(({ name, readinessProbe }) => name === containerName && readinessProbe !== undefined)
  if (!isProbed || status?.phase !== 'Running' || metadata.deletionTimestamp !== undefined) return undefined
  const ready = status.conditions?.find(({ type }) => type === 'Ready')
  return ready?.status === 'True' ? timeOf(ready.lastTransitionTime) : undefined
}
