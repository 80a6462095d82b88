import { type Attempt, containerOf, timeOf } from './attempt.ts'
import type { JobState } from './job-state.ts'
import type { Pod } from './kube-job.ts'
import { kubectlIn } from './names.ts'

/** How long a node may be silent, or a pod may outlive its grace period, before the pod counts as lost. */
const LOST_MS = 5 * 60_000

/** Pure. The first pod whose node does not report any more; `atMs` is when it counts as lost. */
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

/** With the containers that a cluster puts into its pods, such as the proxy of a service mesh. */
function isReadyItself(pod: Pod): boolean {
  const { containerStatuses = [] } = pod.status ?? {}
  return containerOf(pod) !== undefined && containerStatuses.every(({ ready }) => ready === true)
}

function messageOf({ metadata, spec }: Pod, sinceMs: number): string {
  const { name } = metadata
  const node = typeof spec?.nodeName === 'string' ? spec.nodeName : 'unknown'
  const since = `${new Date(sinceMs).toISOString().slice(0, 19)}Z`
  const safe = 'The pod may still be writing, so it is not replaced.'
  const gone = `If the node is gone for good, delete it: \`kubectl delete node ${node}\`.`
  const force = `Only if you are sure that the process has ended: \`${kubectlIn(metadata)} delete pod ${name} --force\`.`
  return `Pod ${name} has not been observed since ${since}: node ${node} does not report. ${safe} ${gone} ${force}`
}
