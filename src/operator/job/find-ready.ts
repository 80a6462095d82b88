import { type Attempt, timeOf } from './attempt.ts'
import { containerName } from './build-pod.ts'
import type { JobState } from './job-state.ts'
import type { Pod } from './kube-job.ts'

/** Pure. Since when a running pod is ready; without a probe readiness says nothing, and without a node it is old. */
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
