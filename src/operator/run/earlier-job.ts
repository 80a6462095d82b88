import type { Resource } from '../crd/resource.ts'
import { type Job, jobKind, podKind } from '../job/kube-job.ts'
import { ownerLabels } from '../job/names.ts'
import type { KubeApi } from '../kube/kube-api.ts'
import type { AnySituation } from '../plan/plan.ts'
import { hasEnded, jobOf } from './known-jobs.ts'

/**
 * A Job that a deleted resource with the name of this one has started, if the Job or one of its pods has not ended. Kubernetes removes them
 * after the resource, or leaves them (`--cascade=orphan`). The API server is asked, before the first run of a resource only: no later run
 * can meet such a Job.
 */
export async function findEarlierJob(
  api: KubeApi,
  { controller, resource, apiGroup }: AnySituation,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { metadata, status } = resource
  if (controller === 'storage' || hasRun(status)) return undefined
  const labels = Object.entries(ownerLabels({ controller, resource, apiGroup }))
  const labelSelector = labels.map(([name, value]) => `${name}=${value}`).join(',')
  const scope = { labelSelector, ...(metadata.namespace !== undefined && { namespace: metadata.namespace }) }
  // In this order: all pods of a Job that is gone exist when they are listed.
  const { items: jobs } = await api.list(jobKind, scope, signal)
  const { items: pods } = await api.list(podKind, scope, signal)
  const own = jobs.filter(job => job.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid))
  const job = jobs.find(one => !own.includes(one) && !isOver(one))
  const uids = new Set(own.map(one => one.metadata.uid))
  const pod = pods.find(one => !hasEnded(one) && !uids.has(jobOf(one)?.uid))
  return job?.metadata.name ?? (pod && (jobOf(pod)?.name ?? pod.metadata.name))
}

function hasRun({ active = [], history = [] }: Resource['status'] = {}): boolean {
  return active.length > 0 || history.length > 0
}

export function isOver({ status }: Job): boolean {
  return status?.conditions?.some(one => /^(Complete|Failed)$/.test(one.type) && one.status === 'True') ?? false
}
