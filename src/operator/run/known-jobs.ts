import type { Resource } from '../crd/resource.ts'
import type { Job, Pod } from '../job/kube-job.ts'
import type { OwnerReference, ResourceKind } from '../kube/object.ts'
import type { Store } from '../watch/store.ts'
import type { ResourceMemory } from './resource-memory.ts'

interface JobView {
  jobs: Pick<Store<Job>, 'ownedBy'>
}

/** Jobs of the resource, with those that the cache does not show yet. */
export function knownJobs({ uid, created }: ResourceMemory, { jobs }: JobView): Job[] {
  const stored = jobs.ownedBy(uid)
  const seen = new Set(stored.map(({ metadata }) => metadata.uid))
  const unseen = [...created.values()].map(({ job }) => job).filter(({ metadata }) => !seen.has(metadata.uid))
  const names = new Set(unseen.map(({ metadata }) => metadata.name))
  return [...stored.filter(({ metadata }) => !names.has(metadata.name)), ...unseen]
}

/** A Job that is gone, made of those of its pods that have not ended. */
export interface DeletedJob {
  job: Job
  pods: Pod[]
}

/**
 * Jobs that a user has deleted, and whose pods have not ended yet. `kubectl delete job` removes the Job at once, and its pods later: until
 * then they write, and hold the lease of the backup. Of active runs only those count whose Job the API server was asked for: a cache may miss one.
 */
export function deletedJobs(
  resource: Resource,
  kind: ResourceKind<Resource>,
  memory: ResourceMemory,
  view: JobView & { pods: Pick<Store<Pod>, 'list'> },
): DeletedJob[] {
  const known = knownJobs(memory, view)
  const uids = new Set(known.map(({ metadata }) => metadata.uid))
  const names = new Set(known.map(({ metadata }) => metadata.name))
  const active = (resource.status?.active ?? []).map(({ job }) => job)
  const wanted = new Set([
    ...[...memory.seen].filter(([uid, { isGone }]) => isGone && !uids.has(uid)).map(([, { name }]) => name),
    ...active.filter(job => memory.missing.has(job) && !names.has(job)),
    // An earlier leader ended these runs, and what it remembered of their pods is gone with it.
    ...(resource.status?.history ?? []).map(({ job }) => job).filter(job => !names.has(job)),
  ])
  const found = new Map<string, DeletedJob>()
  if (wanted.size === 0) return []
  for (const pod of view.pods.list()) {
    const owner = jobOf(pod)
    if (owner === undefined || !wanted.has(owner.name) || uids.has(owner.uid) || hasEnded(pod)) continue
    if (pod.metadata.namespace !== resource.metadata.namespace) continue
    const owned = { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } }
    const { job, pods } = found.get(owner.uid) ?? { job: jobFrom(pod, owner, ownerOf(resource, kind)), pods: [] }
    found.set(owner.uid, { job, pods: [...pods, owned] })
  }
  return [...found.values()]
}

/** Pods that outlive their Job (`--cascade=orphan`) keep its labels only. */
export function jobOf({ metadata: { ownerReferences = [], labels = {} } }: Pod): OwnerReference | undefined {
  const owner = ownerReferences.find(({ kind }) => kind === 'Job')
  if (owner) return owner
  const [name, uid] = [labels['batch.kubernetes.io/job-name'], labels['batch.kubernetes.io/controller-uid']]
  return name === undefined || uid === undefined ? undefined : { apiVersion: 'batch/v1', kind: 'Job', name, uid }
}

export function hasEnded({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

/** A pod has the labels and annotations of its Job, and what was its template. */
function jobFrom({ metadata, spec = {} }: Pod, { name, uid }: OwnerReference, owner: OwnerReference): Job {
  const { namespace, labels = {}, annotations = {}, creationTimestamp, deletionTimestamp } = metadata
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      ...{ name, uid, labels, annotations, ownerReferences: [owner] },
      ...(namespace !== undefined && { namespace }),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
      deletionTimestamp: deletionTimestamp ?? creationTimestamp ?? '',
    },
    spec: { template: { spec } },
  }
}

/** Items of a list do not have their kind. */
function ownerOf({ metadata }: Resource, { apiVersion, kind }: ResourceKind): OwnerReference {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true }
}
