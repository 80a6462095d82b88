import type { Job, Pod } from '../job/kube-job.ts'
import type { KubeObject } from '../kube/object.ts'
import { type Controller, controllers, type Resource, type ResourceKinds } from '../resource/resource.ts'
import { formatKey, type ObjectKey, type Store } from '../watch/store.ts'

/** A resource that is to be looked at. */
export interface Touch {
  controller: Controller
  key: ObjectKey
}

/** The resource that an object belongs to by its owner reference. */
export function ownerOf(object: KubeObject | undefined, kinds: ResourceKinds): Touch | undefined {
  const owner = object?.metadata.ownerReferences?.find(({ controller }) => controller === true)
  const controller = controllers.find(
    one => kinds[one].kind === owner?.kind && kinds[one].apiVersion === owner.apiVersion,
  )
  if (object === undefined || owner === undefined || controller === undefined) return undefined
  return { controller, key: formatKey({ namespace: object.metadata.namespace, name: owner.name }) }
}

/** A pod belongs to a Job. Where the Job is not known yet, its own arrival touches the resource. */
export function ownerOfPod(pod: Pod | undefined, jobs: Store<Job>, kinds: ResourceKinds): Touch | undefined {
  const owner = pod?.metadata.ownerReferences?.find(({ kind }) => kind === 'Job')
  if (pod === undefined || owner === undefined) return undefined
  return ownerOf(jobs.get(formatKey({ namespace: pod.metadata.namespace, name: owner.name })), kinds)
}

/** Rollbacks that wait for the snapshot of the reset. */
export function referrersOf(reset: Resource, rollbacks: Store<Resource>): Touch[] {
  const { name, namespace } = reset.metadata
  return rollbacks
    .list()
    .filter(({ metadata, spec }) => metadata.namespace === namespace && spec.resetRef?.name === name)
    .map(({ metadata }) => ({ controller: 'offset_rollback', key: formatKey(metadata) }))
}

/** The status is the operator's own: a change of it alone asks for nothing. */
export function isChangeOfWish(before: Resource | undefined, after: Resource | undefined): boolean {
  if (before === undefined || after === undefined) return true
  return JSON.stringify(wishOf(before)) !== JSON.stringify(wishOf(after))
}

function wishOf({ metadata }: Resource): unknown[] {
  const { uid, generation, annotations, labels, finalizers, deletionTimestamp } = metadata
  return [uid, generation, annotations, labels, finalizers, deletionTimestamp]
}
